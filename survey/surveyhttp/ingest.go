package surveyhttp

import (
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/belfry-go/belfry/keys"
	"github.com/belfry-go/belfry/survey"
)

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
	if media(r) != "application/json" {
		refuse(w, errMedia)
		return
	}
	body, refused := readBody(w, r, maxIngestBody)
	if refused == nil {
		body, refused = checkJSON(body)
	}
	if refused != nil {
		refuse(w, refused)
		return
	}
	kind, raw, err := readBatch(body)
	if err != nil {
		fail(w, http.StatusBadRequest, err.Error())
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
	reply(w, http.StatusOK, withFaults(report, faults))
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

func readRecipient(raw []byte) (out survey.Recipient, err error) {
	m, err := object(raw, "recipient", "address", "locale", "customerRef")
	for _, f := range []struct {
		into *string
		name string
	}{{&out.Address, "address"}, {&out.Locale, "locale"}, {&out.CustomerRef, "customerRef"}} {
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
