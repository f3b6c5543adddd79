package surveyhttp

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"github.com/belfry-go/belfry/internal/httpapi"
	"github.com/belfry-go/belfry/internal/loglimit"
	"github.com/belfry-go/belfry/keys"
	"github.com/belfry-go/belfry/survey"
)

// Caller is a program that the host has let in, and what it may do.
type Caller struct {
	// Scope is whose events it tells of. Nothing in a request can name another.
	Scope survey.Scope
	// Ingest and Tick are the routes of [API] that it may call. The zero value allows
	// none.
	Ingest, Tick bool
	// Results are what was counted, of [Results], Responses its exports of what each
	// customer answered, for which it takes both.
	Results, Responses bool
	// BusinessUnits are those whose results and responses it may see; nil: all.
	BusinessUnits []string
}

// Authorise says who is calling, from the request's credentials. An error refuses
// the request with 401; its text is not shown. It is called from several
// goroutines.
type Authorise func(r *http.Request) (Caller, error)

// APIOptions are the settings of [API]; nil and every zero value are useful.
type APIOptions struct {
	// BatchSize is how many rows of each kind one tick takes; default 100.
	BatchSize int
	// Logger gets what failed; default slog.Default().
	Logger *slog.Logger
}

// API serves the programs around the surveys:
//
//	POST /api/Surveys/Triggers/ingest   {"eventKind": "...", "items": [...]}
//	POST /api/Surveys/scheduler/tick    {"processed": 12, "dispatched": 3, "failed": 1}
//
// ingest takes application/json of at most 1 MiB with 500 items, nested at most 32
// levels deep, not compressed; members that are not known, or given twice, are
// refused. It answers 200 with what became of each item, also if some of them
// failed; an item that cannot be read is one of those, and takes no other with it.
// tick is one [survey.Service.PollOnce], for a host whose timer is outside of its
// processes; any number at once is safe.
//
//	400  not the JSON that is expected, and nothing was written
//	401  who did not say who it is; 403: not allowed to do this
//	405  another method than POST
//	413  too large; 415: another media type, or compressed
//	503  our own failure: repeat it, which changes nothing that was done
//
// Those are application/problem+json, as from [Forms], with what was wrong as the
// title. Requests of other origins are refused. It panics without a service or without
// who.
func API(s *survey.Service, who Authorise, opts *APIOptions) http.Handler {
	if s == nil || who == nil {
		panic("surveyhttp: API needs a service and an Authorise")
	}
	a := &api{s: s, who: who, batch: 100, logger: loglimit.Limited(nil)}
	if opts != nil {
		a.batch = cmp.Or(max(opts.BatchSize, 0), a.batch)
		a.logger = loglimit.Limited(opts.Logger)
	}
	mux := http.NewServeMux()
	for path, serve := range map[string]http.HandlerFunc{
		"/api/Surveys/Triggers/ingest": httpapi.Known(a.who, func(c Caller) bool { return c.Ingest }, a.ingest),
		"/api/Surveys/scheduler/tick":  httpapi.Known(a.who, func(c Caller) bool { return c.Tick }, a.tick),
	} {
		mux.HandleFunc("POST "+path, serve)
		mux.HandleFunc(path, onlyPost)
	}
	mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) {
		httpapi.Fail(w, http.StatusNotFound, "there is nothing here")
	})
	return httpapi.Guarded(mux, "a request of another origin")
}

func onlyPost(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Allow", http.MethodPost)
	httpapi.Fail(w, http.StatusMethodNotAllowed, "only POST")
}

type api struct {
	s      *survey.Service
	who    Authorise
	batch  int
	logger *slog.Logger
}

// unavailable answers a call that failed on our side.
func (a *api) unavailable(w http.ResponseWriter, r *http.Request, what string, err error) {
	httpapi.LogFailure(r, a.logger, what, err)
	httpapi.Fail(w, http.StatusServiceUnavailable, "try again")
}

const (
	maxIngestBody  = 1 << 20
	maxIngestItems = 500
)

var (
	errEventKind  = errors.New("eventKind is not a text of 1 to 200 bytes without control characters")
	errItems      = errors.New("items is not an array")
	errManyItems  = fmt.Errorf("there are more than %d items", maxIngestItems)
	errIncomplete = errors.New("payload or recipient is missing")
)

func (a *api) ingest(w http.ResponseWriter, r *http.Request, c Caller) {
	if httpapi.Media(r) != "application/json" {
		httpapi.Refuse(w, errMedia)
		return
	}
	body, refused := httpapi.PlainBody(w, r, maxIngestBody)
	if refused == nil {
		body, refused = checkJSON(body)
	}
	if refused != nil {
		httpapi.Refuse(w, refused)
		return
	}
	kind, raw, err := readBatch(body)
	if err != nil {
		httpapi.Fail(w, http.StatusBadRequest, err.Error())
		return
	}
	batch := survey.Batch{Scope: c.Scope, EventKind: kind}
	faults := make([]error, len(raw))
	for i := range raw {
		item, err := readItem(raw[i])
		if faults[i] = err; err == nil {
			batch.Items = append(batch.Items, item)
		}
	}
	report, err := a.s.Ingest(r.Context(), batch)
	if err != nil {
		a.unavailable(w, r, "an ingest failed", err)
		return
	}
	httpapi.Reply(w, http.StatusOK, withFaults(report, faults))
}

// readBatch reads all but the items themselves.
func readBatch(body []byte) (kind string, items [][]byte, err error) {
	m, err := object(body, "the body", "eventKind", "items")
	if err != nil {
		return "", nil, err
	}
	if kind, err = unquote(m["eventKind"], "eventKind"); err != nil {
		return "", nil, err
	}
	if _, err := keys.Join(kind); err != nil || len(kind) > keys.MaxPartLen {
		return "", nil, errEventKind
	}
	if m["items"] == nil || m["items"][0] != '[' {
		return "", nil, errItems
	}
	err = elements(m["items"], func(item []byte) error {
		if items = append(items, item); len(items) > maxIngestItems {
			return errManyItems
		}
		return nil
	})
	return kind, items, err
}

// readItem reads one item. Its payload stays as it was written, for the domain to
// judge.
func readItem(raw []byte) (survey.Item, error) {
	m, err := object(raw, "the item", "payload", "recipient", "occurredOn")
	if err != nil {
		return survey.Item{}, err
	}
	if m["payload"] == nil || m["recipient"] == nil {
		return survey.Item{}, errIncomplete
	}
	out := survey.Item{Payload: m["payload"]}
	if out.Recipient, err = readRecipient(m["recipient"]); err != nil {
		return survey.Item{}, err
	}
	out.OccurredOn, err = moment(m["occurredOn"], "occurredOn")
	return out, err
}

// readRecipient passes over what else the caller says of a recipient, such as a name.
func readRecipient(raw []byte) (out survey.Recipient, err error) {
	m, err := readObject(raw, "recipient", []string{"address", "locale", "zone", "customerRef"}, func(string) error { return nil })
	for _, f := range []struct {
		into *string
		name string
	}{{&out.Address, "address"}, {&out.Locale, "locale"}, {&out.Zone, "zone"}, {&out.CustomerRef, "customerRef"}} {
		if err == nil {
			*f.into, err = unquote(m[f.name], "recipient."+f.name)
		}
	}
	return out, err
}

// moment reads an instant; one that is not given is zero.
func moment(value []byte, where string) (time.Time, error) {
	s, err := unquote(value, where)
	if err != nil || value == nil {
		return time.Time{}, err
	}
	on, err := time.Parse(time.RFC3339Nano, s)
	if err != nil {
		return time.Time{}, fmt.Errorf("%s is not a moment such as 2026-05-14T05:12:34Z", where)
	}
	return on, nil
}

// withFaults puts the items that could not be read, which have a fault, between
// those of a report.
func withFaults(r survey.IngestReport, faults []error) survey.IngestReport {
	items := make([]survey.ItemReport, 0, len(faults))
	for _, fault := range faults {
		if fault != nil {
			items = append(items, survey.ItemReport{Outcome: survey.Failed, Reason: fault.Error()})
			r.Failed++
			continue
		}
		items = append(items, r.Items[0])
		r.Items = r.Items[1:]
	}
	r.Items = items
	return r
}

// ticked is the answer of one tick (Triggers & Scheduler, "PollOnceAsync").
type ticked struct {
	Processed  int `json:"processed"`
	Dispatched int `json:"dispatched,omitempty"` // calls of subscribers that succeeded
	Failed     int `json:"failed,omitempty"`     // and that did not
}

func (a *api) tick(w http.ResponseWriter, r *http.Request, _ Caller) {
	report, err := a.s.PollOnce(r.Context(), a.batch)
	if err != nil {
		a.unavailable(w, r, "a tick failed", err)
		return
	}
	httpapi.Reply(w, http.StatusOK, ticked{report.Processed, report.Dispatched, report.DispatchFailed})
}
