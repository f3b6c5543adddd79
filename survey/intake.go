package survey

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"time"

	"github.com/belfry-go/belfry/keys"
	"github.com/belfry-go/belfry/reasons"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/driver"
	"github.com/belfry-go/belfry/survey/form"
)

// intake makes the instances of some items in one transaction.
type intake struct {
	s     *core
	tx    storage.Tx
	batch *Batch
	link  keys.LinkKey
	now   time.Time

	listeners []listener
	reports   []ItemReport
	pending   []wanted
	bytes     int // of the pending payloads
}

// listener is a trigger that wants events of the batch's kind. One that this process
// cannot read has an error, which fails its instances and harms no others. It keeps
// nothing else of its version: there may be thousands of large ones.
type listener struct {
	row          *triggerRow
	businessUnit string
	trigger      *form.Trigger
	of           *version // of a trigger without a channel, whose links are counted at once
	err          error
}

func (l *listener) wants(e *event) bool {
	e.values[templatePath] = json.Number(strconv.FormatInt(l.row.SurveyID, 10))
	return l.err != nil || l.trigger.Filter.Match(e.values)
}

// wanted is a row that is to be inserted, and where to report it.
type wanted struct {
	row            *instanceRow
	item, instance int
}

// listen finds the triggers, in the order in which they are reported.
func (in *intake) listen(ctx context.Context) error {
	rows, err := in.triggers(ctx)
	if err != nil {
		return err
	}
	slices.SortFunc(rows, func(a, b *triggerRow) int {
		return cmp.Or(cmp.Compare(a.SurveyID, b.SurveyID), cmp.Compare(a.TriggerID, b.TriggerID))
	})
	for some := range slices.Chunk(rows, versionsAtOnce) {
		if err := in.hear(ctx, some); err != nil {
			return err
		}
	}
	return nil
}

// hear looks some triggers up in their versions.
func (in *intake) hear(ctx context.Context, rows []*triggerRow) error {
	refs := make([]versionRef, len(rows))
	for i, row := range rows {
		refs[i] = row.ref()
	}
	versions, err := in.s.versionsOf(ctx, in.tx, refs...)
	if err != nil {
		return err
	}
	for i, row := range rows {
		l := listener{row: row}
		v, err := versions.of(refs[i])
		if l.err = err; err == nil {
			l.find(v)
		}
		in.listeners = append(in.listeners, l)
	}
	return nil
}

// find takes the trigger from its version.
func (l *listener) find(v *version) {
	l.businessUnit = v.BusinessUnit
	if l.trigger = v.Trigger(l.row.TriggerID); l.trigger == nil {
		l.err = fmt.Errorf("survey: version %d of survey %d has no trigger %s", l.row.VersionNumber, l.row.SurveyID, l.row.TriggerID)
	} else if l.trigger.Channel == form.NoChannel {
		l.of = v
	}
}

// triggers reads the rows of the batch's kind.
func (in *intake) triggers(ctx context.Context) (rows []*triggerRow, err error) {
	const page = 1000
	q := driver.Query{Where: []driver.Cond{driver.Eq("event_kind", in.batch.EventKind)}, Limit: page}
	for {
		found, err := triggers.Find(ctx, in.tx, in.batch.Scope, q)
		if err != nil {
			return nil, err
		}
		if rows = append(rows, found...); len(found) < page {
			return rows, nil
		}
		q.After = &driver.Position{ID: found[page-1].ID}
	}
}

// take makes the rows of one item. What fails is reported beside what does not.
func (in *intake) take(ctx context.Context, item int, e *event) error {
	for _, l := range in.listeners {
		if !l.wants(e) {
			continue
		}
		report := InstanceReport{SurveyID: l.row.SurveyID, TriggerID: l.row.TriggerID}
		hash, key, err := identify(e, l)
		if err != nil {
			report.Outcome, report.Reason = Failed, err.Error()
		} else {
			row, err := in.instance(e, l, hash, key)
			if err != nil {
				return err
			}
			in.pending = append(in.pending, wanted{row, item, len(in.reports[item].Instances)})
			in.bytes += len(e.payload)
		}
		in.reports[item].Instances = append(in.reports[item].Instances, report)
		if len(in.pending) >= ingestRows || in.bytes >= ingestBytes {
			if err := in.flush(ctx); err != nil {
				return err
			}
		}
	}
	return nil
}

// identify tells this event from others for a trigger.
func identify(e *event, l listener) (hash, key string, err error) {
	if l.err != nil {
		return "", "", l.err
	}
	if c := l.trigger.Contact; c != nil && c.NotAskedWithin != nil && e.CustomerRef == "" {
		return "", "", errNoCustomer
	}
	if hash, err = e.hash(l.trigger); err != nil {
		return "", "", err
	}
	k := keys.SurveyInstance{Survey: l.row.SurveyID, Trigger: l.trigger.ID, Hash: hash}
	if l.trigger.DedupScope == form.DedupSurvey {
		k.Trigger = ""
	}
	key, err = k.Key()
	return hash, key, err
}

// errNoCustomer is an event that does not name the customer, by whom a contact rule counts.
var errNoCustomer = errors.New(customerPath + ": is empty, and notAskedWithin knows customers by it")

// instance is the row of an event for a trigger. Its first send is due after the
// initial delay, as of the moment of the event.
func (in *intake) instance(e *event, l listener, hash, key string) (*instanceRow, error) {
	id, err := newPublicID(in.s.store.Rand())
	if err != nil {
		return nil, err
	}
	on := e.occurredOn
	if on.IsZero() {
		on = in.now
	}
	t := l.trigger
	row := &instanceRow{
		Due:      driver.Due{Record: storage.Record{Scope: in.batch.Scope, Key: key, Status: StatusPending}},
		PublicID: id, LinkKey: in.link.ID(), LinkHash: linkHash(in.link.Token(id)),
		SurveyID: l.row.SurveyID, SurveyVersion: l.row.VersionNumber, BusinessUnit: l.businessUnit, TriggerID: t.ID,
		TriggeredOn: on, TriggeredBy: "event:" + in.batch.EventKind, Metadata: e.payload, CustomerRef: e.CustomerRef,
		Channel: t.Channel, RecipientAddress: e.Address, RecipientLocale: e.Locale, RecipientZone: e.Zone, UniqueHash: hash, CreatedOn: in.now,
		RecipientHash: e.Recipient.hash(t.Channel),
		NextSendOn:    on.Add(time.Duration(t.Schedule.InitialDelay)), RemindersRemaining: len(t.Schedule.Reminders),
	}
	if t.Channel == form.NoChannel {
		row.handed(in.now, l.of)
	}
	if t.ExpiresAfter != nil {
		row.ExpiresOn = on.Add(time.Duration(*t.ExpiresAfter))
	}
	if t.Contact != nil {
		row.ContactGroup = t.Contact.Group
	}
	if !in.s.sampled(t, key) {
		row.Status, row.ReasonCode, row.Asked = StatusSkipped, reasons.NotSampled, false
		row.NextSendOn, row.StoppedOn, row.EndedOn = time.Time{}, in.now, in.now
	}
	row.plan(in.s.graceOf(t))
	return row, nil
}

// flush inserts what is pending and reports it. The first of several rows with one
// key stands for all: the same event was told twice in one batch.
func (in *intake) flush(ctx context.Context) error {
	first := map[string]int{}
	var rows []*instanceRow
	for _, w := range in.pending {
		if _, again := first[w.row.Key]; !again {
			first[w.row.Key] = len(rows)
			rows = append(rows, w.row)
		}
	}
	got, err := instances.Ensure(ctx, in.tx, keepInstance, rows...)
	if err != nil {
		return err
	}
	var added []*instanceRow
	for _, w := range in.pending {
		made := got[first[w.row.Key]]
		report := &in.reports[w.item].Instances[w.instance]
		report.PublicID, report.Outcome = made.Row.PublicID, Skipped
		if made.Row == w.row {
			report.Outcome, report.Reason = Created, made.Row.ReasonCode
			added = append(added, w.row)
		}
	}
	if err := noteAsked(ctx, in.tx, added...); err != nil {
		return err
	}
	in.pending, in.bytes = in.pending[:0], 0
	return nil
}

// keepInstance leaves the first instance of an event as it is.
func keepInstance(_, _ *instanceRow) (storage.Outcome, bool) { return storage.Unchanged, false }

// newPublicID is a random UUID (RFC 9562, version 4).
func newPublicID(random io.Reader) (string, error) {
	var u [16]byte
	if _, err := io.ReadFull(random, u[:]); err != nil {
		return "", fmt.Errorf("no randomness for a public id: %w", err)
	}
	u[6] = u[6]&0x0f | 0x40 // version 4
	u[8] = u[8]&0x3f | 0x80 // the variant of RFC 9562
	return fmt.Sprintf("%x-%x-%x-%x-%x", u[:4], u[4:6], u[6:8], u[8:10], u[10:]), nil
}
