package notify

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/belfry-go/belfry/keys"
	"github.com/belfry-go/belfry/notify/channel"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/driver"
)

// DeliveryDispatcher makes sure that the records of a delivery exist
// (Communication - System architecture, "Ensure contracts"). *[Notifier] is
// the one that delivers; a host may decorate it.
//
// Every method finds each artifact by its deterministic key, compares the
// immutable fields, creates it if it is missing, and gives its coordinates, in
// the order of the arguments. However often it is called, a compatible
// artifact is success and stays as it is. It takes a constant number of
// statements for any number of artifacts.
//
// With a transaction everything belongs to it; with nil to the bound one, if
// there is one, else to one of its own. A mismatch is an outcome: every result
// comes back, and the error joins a *[ConflictError] for each mismatch, while
// the transaction stays usable and one of its own is committed. After any
// other error nothing of the call was written, or the transaction given must
// be rolled back.
type DeliveryDispatcher interface {
	EnsureAutomationJob(ctx context.Context, tx storage.Tx, jobs ...AutomationJob) ([]Ensured, error)
	EnsureNotificationJob(ctx context.Context, tx storage.Tx, jobs ...Job) ([]Ensured, error)
	EnsureMessagingJob(ctx context.Context, tx storage.Tx, jobs ...MessagingJob) ([]Ensured, error)
	EnsureUserMessage(ctx context.Context, tx storage.Tx, messages ...UserMessage) ([]Ensured, error)
	EnsureOutgoingMessage(ctx context.Context, tx storage.Tx, messages ...OutgoingMessage) ([]Ensured, error)
	EnsureNotificationScheduler(ctx context.Context, tx storage.Tx, schedules ...Schedule) ([]Ensured, error)
}

// Registrar is what automation asks of its dispatcher beside: to know a type of
// notification. It panics on a type that no program can mean.
type Registrar interface{ Register(t Type) }

// Path is the way that a delivery takes, by its producer (Communication -
// System architecture, "Choose send path by producer").
type Path string

// The delivery paths.
const (
	PathManual             Path = "Manual"
	PathDirectReminder     Path = "DirectReminder"
	PathUIOnlyReminder     Path = "UIOnlyReminder"
	PathReportSubscription Path = "ReportSubscription"
	PathCampaign           Path = "Campaign"
	PathSkipped            Path = "Skipped" // nothing is sent; the reason is kept
)

// maxResultMessages bounds the messages that one result names, since it is
// stored in a small row.
const maxResultMessages = 10

// DispatchResult is what a piece of due work led to (Communication - Codebase
// flow, "DeliveryDispatchResult"). It is compact, merged when work is repeated,
// and never deleted. The zero value says that nothing was dispatched yet.
type DispatchResult struct {
	Path          Path        `json:"path,omitempty"`
	AutomationJob Coordinates `json:"automationJob,omitzero"`
	Notification  Coordinates `json:"notification,omitzero"`
	// Scheduler is the dispatch guard, see [Schedule.Guard].
	Scheduler    string `json:"scheduler,omitempty"`
	MessagingJob string `json:"messagingJob,omitempty"` // its GUID
	// Files are those of a report: its blobs, and the names that they go by.
	Files            []AttachmentRef `json:"files,omitempty"`
	UserMessages     []Coordinates   `json:"userMessages,omitempty"`
	OutgoingMessages []Coordinates   `json:"outgoingMessages,omitempty"`
	// SkippedReason and ConflictReason are codes; Summary is for people.
	SkippedReason  string `json:"skippedReasonCode,omitempty"`
	ConflictReason string `json:"conflictReasonCode,omitempty"`
	Summary        string `json:"summary,omitempty"`
}

// PlannedMessages names the messages that a job of a type makes for its own recipients, the
// first ten of them, before they exist: their keys follow from the job's RowKey and
// SourceOn. Those of a digest do not.
func (n *Notifier) PlannedMessages(jobType, rowKey string, sourceOn time.Time, to []Recipient) (users, outgoing []Coordinates) {
	if n.registry.lookup(jobType).windows != nil {
		return nil, nil
	}
	for _, r := range to[:min(len(to), maxResultMessages)] {
		d := n.generator().destination(r)
		if r.Inbox != "" {
			if key, err := keys.UserMessageRow(sourceOn, rowKey); err == nil {
				users = append(users, Coordinates{r.Inbox, key})
			}
		}
		if r.Channel != "" {
			if key, err := keys.OutgoingMessageRow(d.Hash, channel.Method(r.Channel), 0); err == nil {
				outgoing = append(outgoing, Coordinates{rowKey, key})
			}
		}
	}
	return users, outgoing
}

// IsZero reports whether nothing was dispatched yet.
func (r DispatchResult) IsZero() bool {
	return r.Path == "" && r.AutomationJob == Coordinates{} && r.Notification == Coordinates{} && r.Scheduler == "" &&
		r.MessagingJob == "" && len(r.Files) == 0 && len(r.UserMessages)+len(r.OutgoingMessages) == 0 &&
		r.SkippedReason == "" && r.ConflictReason == "" && r.Summary == ""
}

// Merge gives r with what later says: coordinates that later has replace or
// join those of r, and what later leaves empty stays, but for the SkippedReason of
// what is sent after all. At most ten messages of each kind are named.
func (r DispatchResult) Merge(later DispatchResult) DispatchResult {
	return DispatchResult{
		Path:             cmp.Or(later.Path, r.Path),
		AutomationJob:    either(later.AutomationJob, r.AutomationJob),
		Notification:     either(later.Notification, r.Notification),
		Scheduler:        cmp.Or(later.Scheduler, r.Scheduler),
		MessagingJob:     cmp.Or(later.MessagingJob, r.MessagingJob),
		Files:            lastFiles(r.Files, later.Files),
		UserMessages:     union(r.UserMessages, later.UserMessages),
		OutgoingMessages: union(r.OutgoingMessages, later.OutgoingMessages),
		SkippedReason:    r.skippedAfter(later),
		ConflictReason:   cmp.Or(later.ConflictReason, r.ConflictReason),
		Summary:          cmp.Or(later.Summary, r.Summary),
	}
}

// skippedAfter is why nothing is sent: a path by which something is clears what was.
func (r DispatchResult) skippedAfter(later DispatchResult) string {
	if sends := later.Path != "" && later.Path != PathSkipped; sends {
		return later.SkippedReason
	}
	return cmp.Or(later.SkippedReason, r.SkippedReason)
}

func either(a, b Coordinates) Coordinates {
	if a.IsZero() {
		return b
	}
	return a
}

func lastFiles(a, b []AttachmentRef) []AttachmentRef {
	if len(b) == 0 {
		return slices.Clone(a)
	}
	return slices.Clone(b)
}

func union(a, b []Coordinates) []Coordinates {
	out := slices.Clone(a)
	for _, c := range b {
		if !slices.Contains(out, c) && len(out) < maxResultMessages {
			out = append(out, c)
		}
	}
	return out
}

// Ensured is the answer for one artifact of an Ensure call.
type Ensured struct {
	Artifact Artifact
	Scope    Scope
	// Key is the stored identity; Coordinates are its parts, as the documents
	// name them. Both are stable however often the call is repeated.
	Key string
	Coordinates
	// Outcome is Created, Unchanged or Conflict. The first two are success.
	Outcome storage.Outcome
	// Status is the state of the stored row.
	Status string
	// MessageID is the id that providers see, of an outgoing message.
	MessageID string
	// Left are the recipients in the call whom a job that exists does not have. They get
	// nothing: [Notifier.AddRecipients] adds them.
	Left []Recipient
	// Conflict is set if and only if Outcome is Conflict.
	Conflict *ConflictError
}

// kind is what the Ensure methods need to know about one table; the rest is
// the same for all of them.
type kind[R any] struct {
	artifact Artifact
	table    *driver.Table[R]
	// fill checks a wanted row, derives its key and its defaults, and clears
	// what belongs to the pipeline.
	fill func(n *core, now time.Time, r *R) error
	// immutable lists the fields that a stored row and a wanted one must agree in.
	immutable func(stored, want *R) []field
	// left are the recipients of a wanted row whom the stored one does not have; nil: it
	// has none.
	left func(stored, want *R) []Recipient
	// blobs are those that a row names, which are kept once it is created; nil:
	// none.
	blobs func(r *R) []storage.Ref
	// stop keeps what a stored row leads to from going on, since another wish was made
	// under its key, and says whether there was anything to stop; nil: it goes on.
	stop func(now time.Time, r *R) bool
	// erase empties wanted rows whose recipients were erased; nil: they have none.
	erase func(ctx context.Context, n *core, tx storage.Tx, rows []*R) error
	// answer tells where the row is found.
	answer func(r *R) (c Coordinates, messageID string)
}

// field is one immutable field on both sides.
type field struct{ name, stored, wanted string }

// ensure is every Ensure method: prepare, find or create, record conflicts.
func ensure[P, R any](ctx context.Context, n *core, tx storage.Tx, k *kind[R], want []P, row func(*P) R) ([]Ensured, error) {
	rows, err := prepare(n, k, want, row)
	if err != nil || len(rows) == 0 {
		return nil, err
	}
	var out []Ensured
	err = n.inTx(ctx, tx, func(tx storage.Tx) (err error) {
		rows := copies(rows) // the transaction may run again
		if k.erase != nil {
			err = k.erase(ctx, n, tx, rows)
		}
		if err == nil {
			out, _, err = k.ensureIn(ctx, tx, rows)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return out, joinConflicts(out)
}

// prepare makes complete rows of what a caller gives.
func prepare[P, R any](n *core, k *kind[R], want []P, row func(*P) R) ([]R, error) {
	now := driver.Now(n.store)
	rows := make([]R, len(want))
	for i := range want {
		rows[i] = row(&want[i])
		if err := k.fill(n, now, &rows[i]); err != nil {
			return nil, fmt.Errorf("notify: %s, argument %d: %w", k.artifact, i+1, err)
		}
	}
	return rows, nil
}

func copies[R any](rows []R) []*R {
	out := make([]*R, len(rows))
	for i := range rows {
		r := rows[i]
		out[i] = &r
	}
	return out
}

// ensureIn ensures prepared rows and records the conflicts. Besides the answers
// it gives the rows as they are stored.
func (k *kind[R]) ensureIn(ctx context.Context, tx storage.Tx, want []*R) ([]Ensured, []*R, error) {
	found, err := k.table.Ensure(ctx, tx, k.decide, want...)
	if err != nil {
		return nil, nil, err
	}
	out, rows := make([]Ensured, len(found)), make([]*R, len(found))
	for i, f := range found {
		rows[i] = f.Row
		out[i] = k.ensured(f)
		if k.left != nil && f.Outcome == storage.Unchanged && !isStub(f.Row) {
			out[i].Left = k.left(f.Row, want[i])
		}
		if f.Outcome == storage.Conflict {
			out[i].Conflict = k.conflict(f.Row, want[i])
			if err := k.stopped(ctx, tx, f.Row); err != nil {
				return nil, nil, err
			}
		}
	}
	if err := k.keepBlobs(ctx, tx, found); err != nil {
		return nil, nil, err
	}
	return out, rows, recordConflicts(ctx, tx, out)
}

// stopped is a conflict that stops what is under way.
func (k *kind[R]) stopped(ctx context.Context, tx storage.Tx, stored *R) error {
	if k.stop == nil || isStub(stored) {
		return nil
	}
	rec := k.table.Record(stored)
	return driver.RetryStale("a conflict: the row", func() error { // a claim may come between
		row, err := k.table.Get(ctx, tx, rec.Scope, rec.Key)
		if err != nil || !k.stop(driver.Now(tx.Store()), row) {
			return err
		}
		return k.table.Save(ctx, tx, row)
	})
}

// keepBlobs says that the blobs of new rows are referenced; those that repeats
// brought are collected in their time.
func (k *kind[R]) keepBlobs(ctx context.Context, tx storage.Tx, found []driver.Ensured[R]) error {
	if k.blobs == nil {
		return nil
	}
	var owned []storage.Owned
	for _, f := range found {
		if f.Outcome != storage.Created {
			continue
		}
		if refs := k.blobs(f.Row); len(refs) > 0 {
			owned = append(owned, ownedBy(k.table, f.Row, refs...))
		}
	}
	if len(owned) == 0 {
		return nil
	}
	return tx.Store().Blobs().Keep(ctx, tx, owned...)
}

// ownedBy are blobs that a row names.
func ownedBy[R any](t *driver.Table[R], r *R, refs ...storage.Ref) storage.Owned {
	rec := t.Record(r)
	return storage.Owned{Scope: rec.Scope, Table: t.Name, Key: rec.Key, Refs: refs}
}

// decide never changes a stored artifact: it is compatible, or a conflict.
func (k *kind[R]) decide(stored, want *R) (storage.Outcome, bool) {
	if k.conflict(stored, want) != nil {
		return storage.Conflict, false
	}
	return storage.Unchanged, false
}

func (k *kind[R]) conflict(stored, want *R) *ConflictError {
	for _, f := range k.immutable(stored, want) {
		if f.stored != f.wanted {
			at, _ := k.answer(stored)
			return &ConflictError{
				Artifact: k.artifact, Scope: k.table.Record(stored).Scope, Coordinates: at,
				Field: f.name, Stored: f.stored, Wanted: f.wanted,
			}
		}
	}
	return nil
}

func (k *kind[R]) ensured(f driver.Ensured[R]) Ensured {
	rec := k.table.Record(f.Row)
	at, id := k.answer(f.Row)
	return Ensured{
		Artifact: k.artifact, Scope: rec.Scope, Key: rec.Key, Coordinates: at,
		Outcome: f.Outcome, Status: rec.Status, MessageID: id,
	}
}

// joinConflicts is nil if there are none.
func joinConflicts(all []Ensured) error {
	var errs []error
	for _, e := range all {
		if e.Conflict != nil {
			errs = append(errs, e.Conflict)
		}
	}
	return errors.Join(errs...)
}

// fresh is the Record of a wanted row: only what its caller may choose of it.
func fresh(r storage.Record, key, status string) storage.Record {
	return storage.Record{Scope: r.Scope, Key: key, Kind: r.Kind, Status: status}
}

// freshDue is fresh for rows that are due at times.
func freshDue(d driver.Due, key, status string) driver.Due {
	return driver.Due{Record: fresh(d.Record, key, status), Lane: d.Lane}
}

var (
	errNoType   = errors.New("Type is empty")
	errNoRowKey = errors.New("RowKey is empty: it says what makes a repeated call the same job, such as \"receipt:\" and the order's id")
)
