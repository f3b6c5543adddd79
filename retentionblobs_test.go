package belfry_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/benbjohnson/clock"

	"github.com/belfry-go/belfry"
	"github.com/belfry-go/belfry/internal/audit"
	"github.com/belfry-go/belfry/internal/storetest"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/driver"
)

// attach stores a file, and names it in a message of its own that the host asks for.
func (f *forgetter) attach(id string, files ...notify.AttachmentRef) {
	f.t.Helper()
	f.letter(id, id, files...)
}

// letter is attach for one of several messages to somebody.
func (f *forgetter) letter(id, who string, files ...notify.AttachmentRef) {
	f.t.Helper()
	_, err := f.out.EnsureOutgoingMessage(f.t.Context(), nil, notify.OutgoingMessage{
		Channel: "email:test", PartitionKey: "letter-" + id, NotificationType: "welcome", RecipientRef: who, Address: who + "@example.com",
		Content: notify.Content{Subject: "A letter", Text: "Dear " + who, Attachments: files},
	})
	if err != nil {
		f.t.Fatal(err)
	}
}

func (f *forgetter) file(text string) notify.AttachmentRef {
	f.t.Helper()
	a, err := notify.Attach(f.t.Context(), f.store.Blobs(), "letter.txt", "text/plain", "", strings.NewReader(text))
	if err != nil {
		f.t.Fatal(err)
	}
	return a
}

// has reports whether a blob is there, after what may be collected is.
func (f *forgetter) has(ref storage.Ref) bool {
	f.t.Helper()
	for n := 1; n > 0; {
		var err error
		if n, err = f.store.Blobs().Collect(f.t.Context(), 50); err != nil {
			f.t.Fatal(err)
		}
	}
	r, err := f.store.Blobs().Open(f.t.Context(), ref, 0)
	if errors.Is(err, storage.ErrNotFound) {
		return false
	}
	if err != nil {
		f.t.Fatal(err)
	}
	return r.Close() == nil
}

func schemaOf(f *forgetter, table string) *driver.Schema {
	for _, s := range slices.Concat(notify.Schemas(), driver.Schemas(), audit.Schemas()) {
		if s.Name == table {
			return s
		}
	}
	f.t.Fatal("no table " + table)
	return nil
}

// A file goes a day after the last message that has it was forgotten, and not before.
func TestAFileGoesWithTheLastMessageThatHasIt(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, store storage.Store, clk *clock.Mock) {
		f := newForgetter(t, store, clk, belfry.Options{Retention: belfry.Retention{Messages: 30 * days}})
		shared, own := f.file("for both"), f.file("for one")
		f.attach("sam", shared, own)
		f.pass(20)
		f.attach("kim", shared)
		f.pass(20) // the first is forgotten: 30 days, seven of notice, and a day of grace
		if !f.has(shared.Blob) || f.has(own.Blob) {
			t.Errorf("after the first: %v and %v", f.has(shared.Blob), f.has(own.Blob))
		}
		f.pass(8)
		if !f.has(shared.Blob) {
			t.Error("the file of a message that is whole is gone")
		}
		f.pass(6)
		if f.has(shared.Blob) {
			t.Error("a file is left that nobody has")
		}
		if _, stubs := f.rows("outgoing_message"); stubs != 2 {
			t.Errorf("%d stubs", stubs)
		}
		f.attach("sam", shared, own) // the same wish as before, whose file is gone
		f.pass(1)
		f.mails.Sent(t, 2)
	})
}

// A Poller removes files that no row came to own, a day later, also where there are more
// than one step takes, and where other rules fail.
func TestFilesThatNobodyOwnsGoByThemselves(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, inner storage.Store, clk *clock.Mock) {
		spy := &storetest.Spy{Store: inner}
		f := newForgetter(t, spy, clk, belfry.Options{Retention: belfry.Retention{Messages: 30 * days}})
		f.pass(1)
		for range 130 {
			f.file("for nobody")
		}
		clk.Add(20 * time.Hour)
		if err := f.poller.Drain(t.Context()); err != nil || f.count("blob") != 130 {
			t.Errorf("%d files, %v", f.count("blob"), err)
		}
		spy.SetHook(func(c storetest.Call) error {
			if c.Table == "support_answer" {
				return errors.New("no such table")
			}
			return nil
		})
		clk.Add(5 * time.Hour)
		if err := f.poller.Drain(t.Context()); err == nil || f.count("blob") == 130 {
			t.Errorf("nothing failed, or all files are left: %v", err)
		}
		if err := f.poller.Drain(t.Context()); err != nil || f.count("blob") != 0 || f.count("blob_chunk") != 0 {
			t.Errorf("%d files are left, %v", f.count("blob"), err)
		}
	})
}

// The audience of a campaign, and what a large job froze, go with them.
func TestAnAudienceGoesWithItsCampaign(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, store storage.Store, clk *clock.Mock) {
		f := newForgetter(t, store, clk, belfry.Options{Retention: belfry.Retention{Messages: 30 * days}})
		ctx := t.Context()
		audience, err := f.out.Campaigns().PutAudience(ctx, notify.AudienceOf(func(yield func(notify.Recipient, error) bool) {
			for _, who := range []string{"sam", "kim"} {
				if !yield(notify.Recipient{Ref: who, Channel: "email:test", Address: who + "@example.com"}, nil) {
					return
				}
			}
		}), nil)
		if err != nil {
			t.Fatal(err)
		}
		job := notify.MessagingJob{Type: "welcome", GUID: "spring", Blob: audience.Blob, AudienceSize: audience.Recipients}
		if _, err := f.out.EnsureMessagingJob(ctx, nil, job); err != nil {
			t.Fatal(err)
		}
		if _, err := f.out.EnsureNotificationScheduler(ctx, nil, notify.ScheduleForCampaign(job, time.Time{})); err != nil {
			t.Fatal(err)
		}
		var many []notify.Recipient
		for n := range 40 {
			many = append(many, notify.Recipient{Ref: fmt.Sprint("p", n), Channel: "email:test", Address: fmt.Sprintf("p%d@example.com", n)})
		}
		if _, err := f.out.Notify(ctx, notify.Job{Type: "welcome", PartitionKey: "all", RowKey: "all", Recipients: many}); err != nil {
			t.Fatal(err)
		}
		f.pass(2)
		f.mails.Sent(t, 42)
		if !f.has(audience.Blob) || f.count("blob") != 2 || f.count("blob_owner") != 2 {
			t.Errorf("%d blobs, %d owners", f.count("blob"), f.count("blob_owner"))
		}
		f.pass(50)
		if f.has(audience.Blob) || f.count("blob") != 0 || f.count("blob_owner") != 0 || f.count("blob_chunk") != 0 {
			t.Errorf("%d blobs, %d owners are left", f.count("blob"), f.count("blob_owner"))
		}
	})
}

func (f *forgetter) count(table string) (n int) {
	f.t.Helper()
	s := schemaOf(f, table)
	err := f.store.View(f.t.Context(), func(from driver.Reader) (err error) {
		n, err = from.Count(f.t.Context(), s, driver.Everywhere(), nil, 10_000)
		return err
	})
	if err != nil {
		f.t.Fatal(err)
	}
	return n
}

// Rows with many files are forgotten, and erased, in as small transactions as others.
func TestNoTransactionOfTheSweepIsLargeForItsFiles(t *testing.T) {
	t.Parallel()
	for name, sweep := range map[string]func(f *forgetter){
		"old": func(f *forgetter) { f.pass(15) },
		"of a person": func(f *forgetter) {
			if _, err := f.poller.Privacy().Erase(f.t.Context(), "", belfry.Person{Ref: "sam"}, dpo); err != nil {
				f.t.Error(err)
			}
			f.pass(2)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			clk := clock.NewMock()
			clk.Set(storetest.Start)
			written, largest := map[int]int{}, 0
			spy := &storetest.Spy{Store: storetest.Memory(t, clk)}
			f := newForgetter(t, spy, clk, belfry.Options{Retention: belfry.Retention{Messages: 30 * days}})
			for n := range 300 {
				f.letter(fmt.Sprint(n), "sam", f.file("a"), f.file("b"), f.file("c"))
			}
			f.pass(35)
			spy.SetHook(func(c storetest.Call) error {
				switch c.Verb {
				case storetest.Update, storetest.Delete, storetest.Insert:
					written[c.Number] += len(c.Rows)
					largest = max(largest, written[c.Number])
				}
				return nil
			})
			sweep(f)
			if _, stubs := f.rows("outgoing_message"); stubs != 300 || largest > 1000 || largest < 500 {
				t.Errorf("%d stubs, at most %d rows", stubs, largest)
			}
			spy.SetHook(nil)
			if f.has(storage.Ref{Name: "none"}) || f.count("blob") != 0 {
				t.Errorf("%d blobs are left", f.count("blob"))
			}
		})
	}
}

// The audit goes when the host says so, with what ties it to people.
func TestTheAuditGoesAsTheHostSays(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, store storage.Store, clk *clock.Mock) {
		f := newForgetter(t, store, clk, belfry.Options{Retention: belfry.Retention{Audit: 30 * days}})
		act := func(entity, actor string) {
			err := store.InTx(t.Context(), func(tx storage.Tx) error {
				return audit.Write(t.Context(), tx, &audit.Entry{
					Subject: "notification_job", SubjectKey: entity, SubjectID: 1, SubjectVersion: 2,
					Action: "Hold", Actor: actor, Reason: "a test", On: driver.Now(store),
				})
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		act("sam", "kim")
		f.pass(28)
		act("ali", "kim")
		act("bo", "lee")
		f.pass(11)                                                                                           // thirty days, and seven of notice
		if entries, people := f.count("audit_entry"), f.count("audit_person"); entries != 2 || people != 6 { // two rows, two words, two actors
			t.Errorf("%d entries and %d people are left", entries, people)
		}
		f.pass(40)
		if entries, people := f.count("audit_entry"), f.count("audit_person"); entries != 0 || people != 0 {
			t.Errorf("%d entries and %d people are left", entries, people)
		}
	})
}
