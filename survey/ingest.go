package survey

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/belfry-go/belfry/internal/civil"
	"github.com/belfry-go/belfry/keys"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/driver"
	"github.com/belfry-go/belfry/survey/form"
)

// Batch is what [Service.Ingest] takes: events of one kind.
type Batch struct {
	Scope     Scope  `json:"-"` // the host's to say, never the caller's
	EventKind string `json:"eventKind"`
	// Items may be any number; they are taken 500 in a transaction.
	Items []Item `json:"items"`
}

// Item is one event and who is asked about it.
type Item struct {
	// Payload is a JSON object of at most 24 KiB and 32 levels; its values are the
	// paths candidate.*, those of objects inside it with dots: candidate.car.vin.
	Payload   json.RawMessage `json:"payload"`
	Recipient Recipient       `json:"recipient"`
	// OccurredOn is the moment of the event; zero: that of the ingest.
	OccurredOn time.Time `json:"occurredOn,omitzero"`
}

// Recipient is who gets the link. No field holds control characters.
type Recipient struct {
	// Address is what the channel sends to, in at most 320 bytes, kept as it is
	// written: a recipe tells "+964 770" from "+964770".
	Address string `json:"address"`
	// Locale is that of the text, a BCP 47 tag of at most 64 bytes. It may be empty.
	Locale string `json:"locale,omitempty"`
	// Zone is where the recipient is, an IANA name such as Europe/Dublin: gates know the
	// hours there, and texts the time. Empty: not known.
	Zone string `json:"zone,omitempty"`
	// CustomerRef is the host's id of the customer, in at most 200 bytes. Without
	// one the customer's data is not found by an erasure.
	CustomerRef string `json:"customerRef,omitempty"`
}

// check refuses what makes no batch at all.
func (b *Batch) check() error {
	if err := triggers.CheckScope(b.Scope); err != nil {
		return err
	}
	if _, err := keys.Join(b.EventKind); err != nil || len(b.EventKind) > keys.MaxPartLen {
		return errors.New("the event kind has to have 1 to 200 bytes of UTF-8 without control characters")
	}
	return nil
}

// The paths of an event that are no part of its payload (Triggers & Scheduler,
// "Step 3 — building the evaluation context").
const (
	templatePath = "templateId"
	addressPath  = "recipient.address"
	localePath   = "recipient.locale"
	customerPath = "recipient.customerRef"
	// zonePath is where a zone is at fault; filters and recipes cannot ask for it.
	zonePath = "recipient.zone"
)

// event is an item that can be ingested.
type event struct {
	Recipient
	payload    json.RawMessage // as it is stored
	occurredOn time.Time       // zero: now
	// values by path are what filters look at: texts, numbers as they are written,
	// booleans, nil, arrays and form.Object. templatePath is the survey's in question.
	values map[string]any
}

// newEvent takes an item apart. The error says what is wrong with it, and never
// holds a value, which may be personal.
func newEvent(item *Item) (*event, error) {
	if err := item.Recipient.check(); err != nil {
		return nil, err
	}
	on := driver.Time(item.OccurredOn)
	if !on.IsZero() && (on.Year() < 1970 || on.Year() > 9000) {
		return nil, fmt.Errorf("occurredOn: the year %d is not from 1970 to 9000", on.Year())
	}
	values, err := form.Flatten(item.Payload)
	if err != nil {
		return nil, fmt.Errorf("payload: %w", err)
	}
	payload, err := json.Marshal(item.Payload) // escapes some characters
	if err != nil {
		return nil, fmt.Errorf("payload: %w", err)
	}
	if len(payload) > form.MaxMetadata {
		return nil, fmt.Errorf("payload: %d bytes as it is stored, more than %d", len(payload), form.MaxMetadata)
	}
	for path, value := range map[string]string{
		addressPath: item.Recipient.Address, localePath: item.Recipient.Locale, customerPath: item.Recipient.CustomerRef,
	} {
		delete(values, path) // of a payload that says so
		if value != "" {
			values[path] = value // else there is none
		}
	}
	return &event{Recipient: item.Recipient, payload: payload, occurredOn: on, values: values}, nil
}

func (r *Recipient) check() error {
	if strings.TrimSpace(r.Address) == "" {
		return fmt.Errorf("%s: is empty", addressPath)
	}
	for _, f := range []struct {
		path, value string
		most        int
	}{
		{addressPath, r.Address, 320}, {localePath, r.Locale, maxLocale}, {zonePath, r.Zone, 64}, {customerPath, r.CustomerRef, keys.MaxPartLen},
	} {
		switch {
		case len(f.value) > f.most:
			return fmt.Errorf("%s: has %d bytes, more than %d", f.path, len(f.value), f.most)
		case !utf8.ValidString(f.value):
			return fmt.Errorf("%s: is not valid UTF-8", f.path)
		case strings.ContainsFunc(f.value, unicode.IsControl):
			return fmt.Errorf("%s: holds a control character", f.path)
		}
	}
	if _, err := civil.LoadZone(r.Zone); err != nil && r.Zone != "" {
		return fmt.Errorf("%s: is not an IANA time zone, such as Europe/Dublin", zonePath)
	}
	return nil
}

// hash is that of the trigger's recipe over the event.
func (e *event) hash(t *form.Trigger) (string, error) {
	slots := make([]keys.RecipeSlot, len(t.DedupRecipe))
	for i, path := range t.DedupRecipe {
		value, err := e.text(path)
		if err == nil && t.DedupStrict && e.values[path] == nil {
			err = errMissing
		}
		if err != nil {
			return "", fmt.Errorf("dedupRecipe: %s: %w", path, err)
		}
		slots[i] = keys.RecipeSlot{Path: path, Value: value}
	}
	return keys.RecipeHash(slots...)
}

// What has no text, where a text is asked for.
var (
	errObject = errors.New("is an object, which has no text; name a value inside it")
	errArray  = errors.New("is an array, which has no text")
	// errMissing is of a strict recipe.
	errMissing = errors.New("is not there, and the recipe is strict")
)

// text is the value at a path as a recipe takes it: empty where there is none.
func (e *event) text(path string) (string, error) {
	switch v := e.values[path].(type) {
	case string:
		return v, nil
	case json.Number:
		return v.String(), nil
	case bool:
		return strconv.FormatBool(v), nil
	case []any:
		return "", errArray
	case form.Object:
		return "", errObject
	}
	return "", nil
}

const (
	// ingestItems is how many items one transaction takes.
	ingestItems = 500
	// ingestRows and ingestBytes are how many rows one statement inserts, and how
	// much payload they have.
	ingestRows  = 1000
	ingestBytes = 4 << 20
)

// Ingest makes an instance for each item and each trigger that wants it (Triggers &
// Scheduler, "A worked example"). An event that has been told before, by any
// caller and at any time, is Skipped and makes none. An item that cannot be taken is
// Failed with a reason and stops no other. Nothing is sent here.
//
// The error is about the batch as a whole, or the store's. It may be ingested
// again after that, and after any crash: what was made already is Skipped.
func (s *Service) Ingest(ctx context.Context, b Batch) (IngestReport, error) {
	if err := b.check(); err != nil {
		return IngestReport{}, fmt.Errorf("survey: Ingest: %w", err)
	}
	items := make([]ItemReport, 0, len(b.Items))
	for chunk := range slices.Chunk(b.Items, ingestItems) {
		done, err := s.ingest(ctx, &b, chunk)
		if err != nil {
			return IngestReport{}, fmt.Errorf("survey: Ingest of %s: %w", b.EventKind, err)
		}
		items = append(items, done...)
	}
	return sum(items), nil
}

// ingest takes a chunk of the batch, in one transaction.
func (s *Service) ingest(ctx context.Context, b *Batch, chunk []Item) ([]ItemReport, error) {
	events, refused := make([]*event, len(chunk)), make([]string, len(chunk))
	for i := range chunk {
		var err error
		if events[i], err = newEvent(&chunk[i]); err != nil {
			refused[i] = err.Error()
		}
	}
	link, err := s.linkKeyFor(ctx, b.Scope)
	if err != nil {
		return nil, err
	}
	var done []ItemReport
	err = s.inTx(ctx, func(tx storage.Tx) error {
		in := &intake{s: s.core, tx: tx, batch: b, link: link, now: driver.Now(s.store), reports: make([]ItemReport, len(chunk))}
		if err := in.listen(ctx); err != nil {
			return err
		}
		for i, e := range events {
			in.reports[i].Reason = refused[i]
			if e == nil {
				continue
			}
			if err := in.take(ctx, i, e); err != nil {
				return err
			}
		}
		done = in.reports
		return in.flush(ctx)
	})
	return done, err
}

// IngestReport says what became of the items of a batch, in their order, and how
// many had which outcome: the four counts add up to the items. As JSON it is the
// answer of (Triggers & Scheduler, "Step 6 — the response"), where what the
// document does not have is left out if it says nothing.
type IngestReport struct {
	Created int          `json:"created"`
	Skipped int          `json:"skipped"`
	Failed  int          `json:"failed"`
	NoMatch int          `json:"noMatch,omitempty"`
	Items   []ItemReport `json:"items"`
}

// ItemReport is what became of one item: Failed if it or an instance failed,
// Created if an instance was, Skipped if all were, else NoMatch.
type ItemReport struct {
	Outcome   Outcome          `json:"outcome"`
	Instances []InstanceReport `json:"instances"` // by survey and trigger
	// Reason says why the item failed as a whole. Like the reasons of instances it
	// names paths and never holds their values.
	Reason string `json:"reason,omitempty"`
}

// InstanceReport is what became of one item for one trigger. As JSON its outcome is
// left out where it is the item's.
type InstanceReport struct {
	SurveyID  int64   `json:"surveyId"`
	TriggerID string  `json:"triggerId"`
	PublicID  string  `json:"publicId,omitempty"` // of a skipped one the original's; empty if it failed
	Outcome   Outcome `json:"outcome,omitempty"`
	Reason    string  `json:"reason,omitempty"` // of a failed one, and of a new one that is not to be sent
}

// Outcome is what ingest did.
type Outcome string

// The outcomes of an ingest.
const (
	Created Outcome = "Created"
	Skipped Outcome = "Skipped" // the event has an instance already
	Failed  Outcome = "Failed"
	NoMatch Outcome = "NoMatch" // no trigger wants the event
)

// MarshalJSON leaves out what the item says already.
func (r ItemReport) MarshalJSON() ([]byte, error) {
	type plain ItemReport
	out := plain(r)
	out.Instances = make([]InstanceReport, len(r.Instances)) // never null
	for i, n := range r.Instances {
		if n.Outcome == r.Outcome {
			n.Outcome = ""
		}
		out.Instances[i] = n
	}
	return json.Marshal(out)
}

// sum gives the report of items whose instances have their outcomes.
func sum(items []ItemReport) IngestReport {
	r := IngestReport{Items: items}
	for i := range items {
		items[i].Outcome = items[i].outcome()
		switch items[i].Outcome {
		case Created:
			r.Created++
		case Skipped:
			r.Skipped++
		case Failed:
			r.Failed++
		case NoMatch:
			r.NoMatch++
		}
	}
	return r
}

func (r *ItemReport) outcome() Outcome {
	has := map[Outcome]bool{Failed: r.Reason != ""}
	for _, i := range r.Instances {
		has[i.Outcome] = true
	}
	for _, o := range []Outcome{Failed, Created, Skipped} {
		if has[o] {
			return o
		}
	}
	return NoMatch
}
