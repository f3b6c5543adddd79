package automation

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/belfry-go/belfry/internal/work"
	"github.com/belfry-go/belfry/keys"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/driver"
)

// Trace is what the due pass saw and decided in one try of a row. It holds
// identities, counts and hashes, and no address; the error's text is the one in
// the row's Diagnostics.
type Trace struct {
	Scope          Scope
	Key            string
	AutomationType string
	Type           string
	TriggerType    TriggerType
	BusinessUnit   string `json:",omitempty"`
	Source         Source
	TriggerKey     string
	TargetDate     string `json:",omitempty"`
	DaysBefore     int    `json:",omitempty"`
	InputHash      string
	ScheduledOn    time.Time
	// Attempt is 1 for the first try.
	Attempt int

	// Setting is the id of the setting, and SettingActive what it said.
	Setting       string
	SettingActive bool
	// Validity is what the Validator answered: StillValid, or the reason
	// for which the row is no longer valid. Empty: it was not called.
	Validity string `json:",omitempty"`
	// Resolved is how many recipients there were, Recipients how many the policy
	// left, and RecipientHashes stand for the first hundred of those.
	Resolved        int
	Recipients      int
	RecipientHashes []string `json:",omitempty"`
	// Artifacts is how many of each kind were decided on.
	Artifacts map[string]int `json:",omitempty"`

	// Steps are those that were taken, by the store's clock. EndedAt is the one
	// that had the last word about the row.
	BeganOn time.Time
	Steps   []TraceStep
	EndedAt string
	// Status, Reason, NextRetryOn and Hold are the row's afterwards, unless
	// it was written meanwhile.
	Status      string
	Reason      Reason    `json:",omitempty"`
	NextRetryOn time.Time `json:",omitzero"`
	Hold        Reason    `json:",omitempty"`
	Error       string    `json:",omitempty"`
}

// TraceStep is a step of the due pass, for all rows that were handled together.
type TraceStep struct {
	Name    string
	EndedOn time.Time
}

// trace describes a try that was settled.
func (t *try) trace(b *batch, hashKey []byte) Trace {
	r := t.row
	out := Trace{
		Scope: r.Scope, Key: r.Key, AutomationType: r.AutomationType, Type: r.Kind, TriggerType: r.TriggerType,
		BusinessUnit: r.BusinessUnit, Source: Source{r.SourceType, r.Source}, TriggerKey: r.TriggerKey,
		TargetDate: r.date(), DaysBefore: r.DaysBefore, InputHash: r.InputHash, ScheduledOn: r.ScheduledOn,
		Attempt: t.due.Attempt, Setting: r.Setting, SettingActive: t.due.Setting.Active,
		Validity: t.validity, Resolved: t.resolved, Recipients: len(t.to), RecipientHashes: t.hashes(hashKey),
		BeganOn: b.now, Steps: b.taken, EndedAt: t.at,
		Status: r.Status, Reason: r.ReasonCode, NextRetryOn: r.NextRetryOn, Hold: r.HoldReason,
	}
	if t.err != nil {
		out.Error = storable(t.err.Error())
	}
	if t.decision != nil {
		out.Artifacts = t.decision.counts()
	}
	return out
}

// counts is how many of each kind there are.
func (d *decision) counts() map[string]int {
	a, out := d.artifacts, map[string]int{}
	for name, n := range map[string]int{
		"Candidate": len(d.plans), "AutomationJob": len(a.AutomationJobs), "NotificationJob": len(a.Jobs),
		"MessagingJob": len(a.MessagingJobs), "NotificationScheduler": len(a.Schedules),
		"UserMessage": len(a.UserMessages), "OutgoingMessage": len(a.OutgoingMessages),
	} {
		if n > 0 {
			out[name] = n
		}
	}
	return out
}

const (
	defaultKeep = 30 * 24 * time.Hour
	// maxTrace bounds the bytes of a trace, maxHashes the recipients it names.
	maxTrace  = 64 << 10
	maxHashes = 100
)

// Traces says how traces are kept: one blob for each try of a row, which the row
// names (TraceBlobName). They cost a few transactions for each row, so they are
// for a time in which support needs them. A trace that cannot be written is
// logged and counted, and the work goes on.
type Traces struct {
	// Keep is for how long; default 30 days. Then a Poller deletes them, and the
	// rows stay as they are.
	Keep time.Duration
	// HashKey keys the hash that stands for a recipient, so that no reader of
	// a trace can find one by trying all of them; as notify.Options.HashKey.
	// Empty: a plain hash.
	HashKey []byte
}

// Trace reads the newest trace of a row. It is storage.ErrNotFound if there is no
// such row, none was written, or its time is over. It belongs to no bound
// transaction.
func (s Support) Trace(ctx context.Context, scope Scope, key string) (Trace, error) {
	if s.tx != nil {
		return Trace{}, fmt.Errorf("automation: Trace: %w", errBound)
	}
	var name string
	err := s.store.View(ctx, func(from driver.Reader) error {
		row, err := schedules.Get(ctx, from, scope, key)
		if err == nil {
			name = row.TraceBlobName
		}
		return err
	})
	var t Trace
	if err == nil {
		t, err = s.explainer().readTrace(ctx, name)
	}
	if err != nil {
		return Trace{}, fmt.Errorf("automation: Trace: %w", err)
	}
	return t, nil
}

func (s explainer) readTrace(ctx context.Context, name string) (t Trace, err error) {
	if name == "" {
		return t, storage.ErrNotFound
	}
	r, err := s.store.Blobs().Open(ctx, storage.Ref{Name: name}, 0)
	if err != nil {
		return t, err
	}
	text, err := io.ReadAll(r)
	if err = errors.Join(err, r.Close()); err == nil {
		err = json.Unmarshal(text, &t)
	}
	return t, err
}

// writeTraces puts a trace of every try aside and lets its row name it. Nothing
// of it belongs to the transaction that settles: a blob that no row comes to
// name goes when its time is over, like all others.
func (b *batch) writeTraces(ctx context.Context) {
	o := b.s.opts.Traces
	if o == nil || ctx.Err() != nil { // rows that are given back were not tried
		return
	}
	refs := make([]storage.Ref, len(b.tries))
	for i, t := range b.tries {
		err := work.Guard(func() (err error) {
			refs[i], err = b.s.worker().putTrace(ctx, t.trace(b, o.HashKey))
			return err
		})
		if err != nil {
			b.s.worker().traceFailed(ctx, err, 1)
		}
	}
	err := work.Guard(func() error {
		until := b.s.now().Add(cmp.Or(o.Keep, defaultKeep))
		return b.s.store.InTx(ctx, func(tx storage.Tx) error { return b.s.store.Blobs().KeepUntil(ctx, tx, until, refs...) })
	})
	if err != nil {
		b.s.worker().traceFailed(ctx, err, len(refs))
		return
	}
	for i, ref := range refs {
		if !ref.IsZero() {
			b.tries[i].row.TraceBlobName = ref.Name
		}
	}
}

func (s worker) putTrace(ctx context.Context, t Trace) (storage.Ref, error) {
	text, err := json.Marshal(t)
	if err == nil && len(text) > maxTrace {
		err = fmt.Errorf("it has %d bytes, more than %d", len(text), maxTrace)
	}
	if err != nil {
		return storage.Ref{}, err
	}
	return s.store.Blobs().Put(ctx, bytes.NewReader(text))
}

func (s worker) traceFailed(ctx context.Context, err error, rows int) {
	s.tel.traceFailed(ctx, rows)
	s.opts.Logger.WarnContext(ctx, "belfry: traces could not be written; the work goes on", "rows", rows, "error", err)
}

// hashes stand for the first recipients: for the host's own reference and the
// channel, never for an address.
func (t *try) hashes(hashKey []byte) []string {
	var out []string
	for _, r := range t.to[:min(len(t.to), maxHashes)] {
		out = append(out, keys.RecipientHash(hashKey, cmp.Or(r.Ref, r.Inbox), r.Channel, ""))
	}
	return out
}
