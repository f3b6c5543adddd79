package notify

import (
	"cmp"
	"context"
	"time"

	"github.com/belfry-go/belfry/keys"
	"github.com/belfry-go/belfry/reasons"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/driver"
)

// MessagingJob coordinates a campaign or a report whose recipients and payload
// are in a blob, named and never embedded (Communication - Codebase flow,
// "Campaign"). A caller of EnsureMessagingJob fills in the fields down to
// ValidUntil, of which Type and GUID are required; the others are the answer of
// a list and ignored. How far it has come is its [CampaignProgress].
type MessagingJob struct {
	Scope Scope
	// Type is the notification type.
	Type string
	// Lane orders it among other work; zero leaves it to the type.
	Lane int16
	// GUID is the identity: keys.MessagingJobGUID for a report.
	GUID         string
	BusinessUnit string
	// Blob names the payload. A retry whose payload has the same content uses
	// the stored blob; another content is a conflict.
	Blob storage.Ref
	// ContentHash is the payload's; empty means the blob's SHA-256.
	ContentHash string
	// InputHash says what the job stands for; empty means the content alone does.
	InputHash string
	// AudienceSize is how many recipients the payload has, as PutAudience tells.
	// Zero means that it is unknown; then no time left is estimated.
	AudienceSize int
	// ValidUntil is from when on its messages are not sent any more; zero: what the type
	// says.
	ValidUntil time.Time

	// Key is the stored identity, which Release takes.
	Key string
	// Status is one of the Status… constants.
	Status string
	// DueOn is when the next chunk is made; zero: none is.
	DueOn     time.Time
	CreatedOn time.Time
	// ForgottenOn is when all but the key and the state was forgotten; zero: it was not.
	ForgottenOn time.Time
	driver.Tries
	driver.SupportHold
}

// Coordinates are where the messaging job is found: "{BusinessUnit}_Campaign" and its
// GUID; without a business unit that can be part of a key the GUID alone.
func (j *MessagingJob) Coordinates() Coordinates { return campaignAt(j.BusinessUnit, j.GUID) }

func campaignAt(businessUnit, guid string) Coordinates {
	partition, err := keys.CampaignPartition(businessUnit)
	if err != nil {
		partition = guid
	}
	return Coordinates{partition, guid}
}

// messagingJobRow has the columns of a [MessagingJob].
type messagingJobRow struct {
	tried[ofMessagingJobs]
	driver.Tombstone
	GUID         string      `db:"guid,fixed,plain"`
	BusinessUnit string      `db:"business_unit,fixed,plain"`
	Blob         storage.Ref `db:"blob,fixed,json,address"`
	ContentHash  string      `db:"content_hash,fixed,plain"`
	InputHash    string      `db:"input_hash,fixed,plain"`
	AudienceSize int         `db:"audience_size,fixed"`
	ValidUntil   time.Time   `db:"valid_until,fixed"`

	CreatedOn time.Time `db:"created_on,fixed"`
	generation
}

var messagingJobs = driver.Define[messagingJobRow]("messaging_job").Grows(driver.WithWork).
	Kept("Retention.Messages", "a stub stays, so that the same campaign asked for again sends nothing")

// row has what a caller chooses.
func (j *MessagingJob) row() messagingJobRow {
	return messagingJobRow{
		tried: tried[ofMessagingJobs]{Due: driver.Due{Record: storage.Record{Scope: j.Scope, Kind: j.Type}, Lane: j.Lane}},
		GUID:  j.GUID, BusinessUnit: j.BusinessUnit, Blob: j.Blob,
		ContentHash: j.ContentHash, InputHash: j.InputHash, AudienceSize: j.AudienceSize, ValidUntil: j.ValidUntil,
	}
}

func (j *messagingJobRow) view() MessagingJob {
	return MessagingJob{
		Scope: j.Scope, Type: j.Kind, Lane: j.Lane,
		GUID: j.GUID, BusinessUnit: j.BusinessUnit, Blob: j.Blob,
		ContentHash: j.ContentHash, InputHash: j.InputHash, AudienceSize: j.AudienceSize, ValidUntil: j.ValidUntil,
		Key: j.Key, Status: j.Status, DueOn: j.DueOn, CreatedOn: j.CreatedOn, ForgottenOn: j.ForgottenOn,
		Tries: j.Tries, SupportHold: j.SupportHold,
	}
}

// generation is how far a campaign has come. It changes only in the
// transactions that write a chunk of messages, or cancel some.
type generation struct {
	StartedOn time.Time `db:"started_on"` // when its schedule fell due
	// HashKey is the fingerprint of the key that hashes the recipients, from the
	// first chunk on: under another one it could not be told who had a message.
	HashKey string `db:"hash_key,plain"`
	// Offset is the cursor: so many bytes of the payload are done. The recipients
	// in front of it are Done, and each of them is Generated, Skipped or Repeated.
	Offset    int64 `db:"payload_offset"`
	Done      int   `db:"recipients_done"`
	Generated int   `db:"recipients_generated"` // a message was made that is to go out
	Skipped   int   `db:"recipients_skipped"`   // nothing goes out, for a reason
	Repeated  int   `db:"recipients_repeated"`  // had their message already: they are in the audience twice
	// ChunkOn is when the last chunk was committed, Hourly how many recipients an
	// hour the last chunks made, smoothed.
	ChunkOn     time.Time `db:"chunk_on"`
	Hourly      int       `db:"hourly_rate"`
	CancelledOn time.Time `db:"cancelled_on"` // by a person
	// CancelledUpTo is the key up to which a cancelled campaign's messages were
	// looked at in this round, InFlight how many of them were with a provider just
	// then, Rounds how many rounds came before.
	CancelledUpTo string `db:"cancelled_up_to,plain"`
	InFlight      int    `db:"in_flight"`
	Rounds        int    `db:"cancel_rounds"`
	Cancelled     int    `db:"messages_cancelled"`
}

// advance moves the cursor behind a chunk and counts what became of it.
func (g *generation) advance(now time.Time, to int64, generated, skipped, repeated int) {
	n := generated + skipped + repeated
	g.Offset = to
	g.Done += n
	g.Generated += generated
	g.Skipped += skipped
	g.Repeated += repeated
	if took := now.Sub(g.ChunkOn); !g.ChunkOn.IsZero() && took > 0 {
		g.Hourly = smoothed(g.Hourly, int(float64(n)*float64(time.Hour)/float64(took)))
	}
	g.ChunkOn = now
}

// smoothed gives the last value a quarter of the weight.
func smoothed(before, last int) int {
	if before == 0 {
		return last
	}
	return (3*before + last) / 4
}

// left is how long the rest takes at the present rate; zero: unknown.
func (g *generation) left(size int) time.Duration {
	if g.Hourly == 0 || size <= g.Done {
		return 0
	}
	return time.Duration(float64(size-g.Done) / float64(g.Hourly) * float64(time.Hour)).Round(time.Second)
}

// Coordinates are where the messaging job is found.
func (j *messagingJobRow) Coordinates() Coordinates { return campaignAt(j.BusinessUnit, j.GUID) }

// wake is as that of a [Job]. One that is paused stays so, and goes on when it is
// resumed.
func (j *messagingJobRow) wake(now time.Time, skip string) bool {
	stopped := j.Status == StatusStopped
	waits := j.Status == StatusCreated || (j.Status == StatusPaused || stopped) && j.StartedOn.IsZero()
	switch {
	case !waits, stopped && skip != "":
		return false
	case skip != "":
		j.skipped(now, skip)
		return true
	}
	j.StartedOn = now
	if j.Status == StatusCreated {
		j.become(StatusReady)
		j.DueOn = now
	}
	return true
}

// goOn makes the job due for its next chunk.
func (j *messagingJobRow) goOn(now time.Time) {
	j.become(StatusReady)
	restart(&j.Tries)
	j.DueOn, j.ReasonCode = now, ""
}

func (j *messagingJobRow) generated(now time.Time) {
	j.end(now, StatusGenerated)
	restart(&j.Tries)
	j.ReasonCode = ""
}

// failed leaves the cursor in front of the chunk.
func (j *messagingJobRow) failed(now time.Time, reason string) {
	j.tried.failed(now, reason)
	j.ChunkOn = time.Time{}
}

// stopped ends a campaign whose payload or messages stand for something else.
func (j *messagingJobRow) stopped(now time.Time, reason string) {
	j.busy()
	j.end(now, StatusStopped)
	j.ReasonCode = reason
	j.SupportHold = onHold(reasons.Conflict)
}

// conflicted puts a campaign on hold that was asked for with another payload. Its
// messages wait, too; a chunk under way is dropped.
func (j *messagingJobRow) conflicted(now time.Time) bool {
	switch {
	case j.IsOnSupportHold:
		return false
	case j.Status == StatusGenerated: // its messages may wait to be sent
	case !messagingStates.Legal(j.Status, StatusStopped):
		return false
	default:
		j.end(now, StatusStopped)
		j.ChunkOn = time.Time{}
		dropLease(&j.Due)
	}
	j.ReasonCode = reasons.Conflict
	j.SupportHold = onHold(reasons.Conflict)
	return true
}

// abandoned is a claim whose lease ran out. Both passes over campaigns may take
// over from each other, and the one that makes messages has given the row its own
// status then: a cancelled campaign goes back at once.
func (j *messagingJobRow) abandoned(now time.Time) {
	j.LeaseLossCount++
	if !j.CancelledOn.IsZero() {
		j.become(StatusCancelled)
		j.DueOn = now
		return
	}
	j.failed(now, reasons.LeaseLost)
}

func (j *messagingJobRow) released(time.Time) {
	if j.Status == StatusGenerating {
		j.become(StatusReady)
	}
}

// pause takes effect between two chunks: one that is under way is dropped.
func (j *messagingJobRow) pause(time.Time) string {
	if !messagingStates.Legal(j.Status, StatusPaused) || j.Status == StatusPaused {
		return "it is " + j.Status
	}
	j.become(StatusPaused)
	j.DueOn, j.ChunkOn = time.Time{}, time.Time{}
	dropLease(&j.Due)
	return ""
}

// resume goes on where the campaign was, or waits for its schedule as before.
func (j *messagingJobRow) resume(now time.Time) string {
	if j.Status != StatusPaused {
		return "it is " + j.Status + ", not paused"
	}
	dropLease(&j.Due)
	if j.StartedOn.IsZero() {
		j.become(StatusCreated)
		return ""
	}
	j.goOn(now)
	return ""
}

// cancel is for good. It is due until its messages are cancelled too.
func (j *messagingJobRow) cancel(now time.Time) string {
	if refused := j.tried.cancel(now); refused != "" {
		return refused
	}
	j.CancelledOn, j.ReasonCode = now, reasons.CampaignCancelled
	if !j.StartedOn.IsZero() {
		j.DueOn = now
	}
	return ""
}

func (j *messagingJobRow) releaseHold(now time.Time) string {
	if !j.IsOnSupportHold {
		return notHeld
	}
	if j.ReasonCode == reasons.HashKeyChanged {
		j.HashKey = anyHashKey // from here on the present one counts
	}
	j.SupportHold = driver.SupportHold{}
	switch {
	case j.Status == StatusGenerated:
		j.ReasonCode = ""
		return ""
	case j.Status == StatusStopped && j.StartedOn.IsZero():
		j.become(StatusCreated)
		j.ReasonCode, j.EndedOn = "", time.Time{}
		return ""
	}
	j.EndedOn = time.Time{}
	j.goOn(now)
	return ""
}

// cancelled ends a message that has not been sent.
func (m *messageRow) cancelled(now time.Time, reason string) {
	m.become(StatusCancelled)
	m.ReasonCode = reason
	m.DueOn, m.NextRetryOn, m.EndedOn = time.Time{}, time.Time{}, now
	m.CallStartedOn = time.Time{}
	m.SupportHold = driver.SupportHold{}
}

// ended cancels a message whose owner wants no more calls, and reports whether it did. Not
// one that is called at this moment, nor one that has ended.
func (m *messageRow) ended(now, on time.Time, reason string) bool {
	if m.Status == StatusSending && !m.CallStartedOn.IsZero() {
		if m.LeaseExpiresOn.After(now) {
			return false
		}
		m.abandoned(now)
	}
	if m.Status == StatusCancelled || !outgoingStates.Legal(m.Status, StatusCancelled) {
		return false
	}
	m.cancelled(on, reason)
	dropLease(&m.Due)
	return true
}

// EnsureMessagingJob makes sure of messaging jobs; see [DeliveryDispatcher].
// The payload's blob is complete before the call; the stored job keeps the
// first one. Immutable are the type, the business unit, the InputHash and the
// ContentHash. A conflict puts the campaign on hold, and what it has not sent yet waits
// until a person releases it.
func (n *Notifier) EnsureMessagingJob(ctx context.Context, tx storage.Tx, want ...MessagingJob) ([]Ensured, error) {
	for i := range want {
		n.warnOfTypes(ctx, want[i].Type)
	}
	return ensure(ctx, n.core, tx, messagingKind, want, (*MessagingJob).row)
}

var messagingKind = &kind[messagingJobRow]{
	artifact: ArtifactMessagingJob,
	table:    messagingJobs,
	fill:     fillMessagingJob,
	immutable: func(s, w *messagingJobRow) []field {
		return []field{
			{"Type", s.Kind, w.Kind},
			{"BusinessUnit", s.BusinessUnit, w.BusinessUnit},
			{"InputHash", s.InputHash, w.InputHash},
			{"ContentHash", s.ContentHash, w.ContentHash},
		}
	},
	stop:   func(now time.Time, j *messagingJobRow) bool { return j.conflicted(now) },
	blobs:  func(j *messagingJobRow) []storage.Ref { return []storage.Ref{j.Blob} },
	answer: func(j *messagingJobRow) (Coordinates, string) { return j.Coordinates(), "" },
}

func fillMessagingJob(n *core, now time.Time, j *messagingJobRow) error {
	key, err := keys.Join(j.GUID)
	if err != nil {
		return err
	}
	if j.Kind == "" {
		return errNoType
	}
	j.Due = freshDue(j.Due, key, StatusCreated)
	j.Lane = n.registry.lane(j.Kind, j.Lane)
	j.ContentHash = cmp.Or(j.ContentHash, j.Blob.SHA256)
	j.AudienceSize = max(j.AudienceSize, 0)
	j.CreatedOn = now
	return nil
}
