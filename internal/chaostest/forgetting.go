package chaostest

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/benbjohnson/clock"

	"github.com/belfry-go/belfry"
	"github.com/belfry-go/belfry/automation"
	"github.com/belfry-go/belfry/internal/outbox"
	"github.com/belfry-go/belfry/internal/sweep"
	"github.com/belfry-go/belfry/internal/testlevel"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/driver"
)

const (
	canary = "zinnober" // who is erased
	other  = "purpur"   // who is not
)

// forgetting is an arena of letters, each with a file of its own, that are erased by
// processes which are killed.
type forgetting struct {
	*arena
	letters, most int
	middle        int // kills that came while there was something left
}

func newForgetting(t *testing.T, d Driver) *forgetting {
	f := &forgetting{arena: newArena(t, d), letters: 2000, most: 3}
	if testlevel.Has(t, testlevel.Nightly) {
		f.letters, f.most = 12_000, minKills
	}
	return f
}

// write requests letters to a person, each with a file.
func (f *forgetting) write(who, kind string, n int, on time.Time) {
	f.t.Helper()
	f.on(func(ctx context.Context, h *Host) error {
		_, out := services(h.Store, f.provider.URL)
		for first := 0; first < n; first += 100 {
			var some []notify.OutgoingMessage
			for i := range min(100, n-first) {
				says := fmt.Sprintf("letter %d to %s", first+i, who)
				file, err := notify.Attach(ctx, h.Store.Blobs(), who+".txt", "text/plain", "", strings.NewReader(says))
				if err != nil {
					return err
				}
				some = append(some, notify.OutgoingMessage{
					Channel: channelKey, PartitionKey: fmt.Sprint(kind, first+i), NotificationType: "news", RecipientRef: "ref-" + who, Address: who + "@example.com",
					Content: notify.Content{Text: says, Attachments: []notify.AttachmentRef{file}}, ScheduledOn: on,
				})
			}
			if _, err := out.EnsureOutgoingMessage(ctx, nil, some...); err != nil {
				return err
			}
		}
		return nil
	})
}

// killed starts an erasure again and again, and kills it at a random moment, or as soon as
// it has written something. left counts what is to be done.
func (f *forgetting) killed(left string) {
	f.t.Helper()
	f.on(func(ctx context.Context, h *Host) error {
		count := func() (int, error) {
			rows, err := h.Rows(ctx, left)
			if err != nil {
				return 0, err
			}
			return strconv.Atoi(fmt.Sprint(rows[0][0]))
		}
		before, err := count()
		for err == nil && f.kills < f.most && before > 0 {
			w, now := f.start("erase"), before
			if f.kills%2 == 0 {
				<-time.NewTimer(time.Duration(f.rnd.IntN(150)) * time.Millisecond).C
			} else {
				for late := time.NewTimer(time.Minute); now == before && err == nil; {
					select {
					case <-late.C:
						return fmt.Errorf("nothing was done in a minute")
					case <-time.NewTimer(5 * time.Millisecond).C:
						now, err = count()
					}
				}
			}
			_ = w.Process.Kill() // SIGKILL; it may have come to its end
			_ = w.Wait()
			f.kills++
			if before, err = count(); before > 0 {
				f.middle++
			}
		}
		return err
	})
	f.t.Logf("%s: %d kills, %d of them in the middle of %d rows", f.driver.Name, f.kills, f.middle, f.letters)
	if f.middle < f.most/2 || f.middle == 0 {
		f.t.Errorf("%d of %d kills came in the middle", f.middle, f.kills)
	}
}

// collected removes orphaned blobs, a day later.
func (f *forgetting) collected() {
	f.t.Helper()
	f.offset += 25 * time.Hour
	f.on(func(ctx context.Context, h *Host) error {
		for n := 1; n > 0; {
			var err error
			if n, err = h.Store.Blobs().Collect(ctx, 1000); err != nil {
				return err
			}
		}
		return nil
	})
}

// Erasures has processes erase a person with many letters, which are killed in the
// middle: in the end nothing is left of the person in any table or blob, and all of
// another's.
func Erasures(t *testing.T, d Driver) {
	f := newForgetting(t, d)
	later := clock.New().Now().AddDate(1, 0, 0)
	f.write(canary, "letter-", f.letters, later)
	f.write(other, "note-", 50, later)
	before := f.rows()
	f.killed("SELECT count(*) FROM outgoing_message WHERE recipient_ref = 'ref-" + canary + "'")
	for range 3 { // a pass that failed waits a quarter of an hour, what was under way an hour
		f.drain()
		f.offset += time.Hour
	}
	f.collected()
	after := f.rows()
	for row, text := range after {
		if strings.Contains(text, canary) {
			t.Errorf("left: %s: %s", row, text)
		}
	}
	kept := 0
	for row, text := range before {
		if strings.Contains(text, other) {
			if kept++; after[row] != text {
				t.Errorf("%s is changed:\n%s\n%s", row, text, after[row])
			}
		}
	}
	if kept < 100 || f.count("blob") != 50 || f.count("outgoing_message") != f.letters+50 || len(f.provider.log()) > 0 {
		t.Errorf("%d rows of the other were compared; %d blobs, %d messages, %d calls", kept, f.count("blob"), f.count("outgoing_message"), len(f.provider.log()))
	}
}

func (f *forgetting) count(of string) int {
	f.t.Helper()
	return f.query("SELECT 'n', count(*) FROM " + of)["n"]
}

// rows is all that is stored, a text for each row.
func (f *forgetting) rows() map[string]string {
	f.t.Helper()
	out := map[string]string{}
	f.on(func(ctx context.Context, h *Host) error {
		for _, s := range slices.Concat(driver.Schemas(), notify.Schemas(), automation.Schemas(), outbox.Schemas(), sweep.Schemas()) {
			err := h.Store.View(ctx, func(from driver.Reader) error {
				rows, err := from.Select(ctx, s, driver.Everywhere(), driver.Query{Limit: 100_000})
				for _, r := range rows {
					var b strings.Builder
					for i := range s.Columns {
						v, err := s.Columns[i].Value(r)
						if err != nil {
							return err
						}
						if bytes, ok := v.([]byte); ok {
							v = string(bytes)
						}
						fmt.Fprintf(&b, "%s=%v ", s.Columns[i].Name, v)
					}
					out[fmt.Sprint(s.Name, " ", driver.RecordOf(r).ID)] = b.String()
				}
				return err
			})
			if err != nil {
				return err
			}
		}
		return nil
	})
	return out
}

// erasing is the worker process that erases the person, until it is killed.
func erasing(ctx context.Context, store storage.Store, provider string) error {
	reminders, out := services(store, provider)
	fmt.Println("ready")
	who := belfry.Person{Ref: "ref-" + canary, Addresses: []belfry.PersonAddress{{Method: "email", Address: canary + "@example.com"}}}
	_, err := belfry.NewPoller(store, nil, reminders, out).Privacy().Erase(ctx, "", who, belfry.By{Actor: "test", Reason: "a letter"})
	return err
}
