package chaostest

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/benbjohnson/clock"
	"github.com/google/go-cmp/cmp"

	"github.com/belfry-go/belfry/automation"
	"github.com/belfry-go/belfry/internal/testlevel"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/notify/channel"
	"github.com/belfry-go/belfry/notify/gate"
	"github.com/belfry-go/belfry/reasons"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/driver"
)

// size is how many messages flow and how often a worker is killed.
func size(t testing.TB, d Driver) (messages, kills int) {
	if testlevel.Has(t, testlevel.Nightly) {
		return 5000, 40
	}
	return d.share(t, 3*deliveries), d.share(t, minKills) // enough for the last kill to find some, however late it comes
}

// posting is an arena of reminders and a campaign. Reminders go to p00000 and on;
// the first of the campaign's recipients are the last of those, and get both.
type posting struct {
	*arena
	messages, kept int // of all wanted messages so many are kept back by gates
	told           int // how many calls the callbacks have told of
	today          automation.Date
}

// Doubts has reminders and a campaign flow through the gates, and callbacks come in,
// while workers of all passes are killed at random moments, some of them in the middle
// of calls. The provider cannot be asked. Nothing is lost, no claim makes two calls, and
// in doubt is exactly what was being called and has no result.
func Doubts(t *testing.T, d Driver) {
	messages, kills := size(t, d)
	p := &posting{arena: newArena(t, d), messages: messages}
	// The window is open while workers are killed, whatever the time of day is.
	now := clock.New().Now().UTC()
	p.offset = now.Truncate(24 * time.Hour).Add(25 * time.Hour).Sub(now)
	p.plan()
	p.watch()
	for p.kills < kills {
		p.round("post", func() func() {
			p.callbacks()
			return p.cut()
		})
		p.offset += pastEverything
	}
	flowing := len(p.provider.log())
	for range 40 {
		p.release()
		if err := p.start("postdrain").Wait(); err != nil {
			t.Fatal(err)
		}
		p.callbacks()
		p.offset += pastEverything
		if p.query("SELECT 'open', count(*) FROM outgoing_message WHERE due_on IS NOT NULL")["open"] == 0 && p.settled() {
			break
		}
	}
	if flowing >= messages-p.kept {
		t.Errorf("everything was sent before the last kill: the kills proved nothing")
	}
	doubts := p.checkDoubts()
	p.checkMessages(doubts)
	t.Logf("%s: %d kills, %d messages, %d calls before the last kill, %d in all, %d told by callbacks, %d kept back by gates, %d in doubt, %d rows released by support",
		d.Name, p.kills, messages, flowing, len(p.provider.log()), p.told, p.kept, len(doubts), p.released)
}

// with opens the database in this process.
func (p *posting) with(do func(context.Context, *automation.Scheduler, *notify.Notifier, DB) error) {
	p.t.Helper()
	p.on(func(ctx context.Context, h *Host) error {
		reminders, out := post(h.Store, p.provider.URL)
		p.today.Year, p.today.Month, p.today.Day = driver.Now(h.Store).UTC().Date()
		return do(ctx, reminders, out, h)
	})
}

// plan wants half of the messages as reminders and half by a campaign. Some of
// their recipients are suppressed, or have opted out, or may get nothing here.
func (p *posting) plan() {
	p.with(func(ctx context.Context, reminders *automation.Scheduler, out *notify.Notifier, _ DB) error {
		var visits []automation.Candidate
		for i := range p.messages / 2 {
			visits = append(visits, p.visit(i))
		}
		if _, err := reminders.Ensure(ctx, visits...); err != nil {
			return err
		}
		for i := range 10 {
			to := notify.Destination{Method: "email", Address: person(fmt.Sprintf("p%05d", i)).Address}
			if err := out.Contacts().Suppress(ctx, "", channel.Complaint, notify.By{Actor: "test", Reason: "a list"}, to); err != nil {
				return err
			}
			no := notify.Preference{RecipientRef: fmt.Sprintf("p%05d", p.messages/2+200+i), OptedOut: true}
			if err := out.Contacts().SetPreferences(ctx, no); err != nil {
				return err
			}
		}
		p.kept = 30
		return p.campaign(ctx, out)
	})
}

func (p *posting) campaign(ctx context.Context, out *notify.Notifier) error {
	payload, err := out.Campaigns().PutAudience(ctx, notify.AudienceOf(func(yield func(notify.Recipient, error) bool) {
		for i := range p.messages / 2 {
			to := person(fmt.Sprintf("p%05d", p.messages/2-100+i))
			if i >= p.messages/2-10 {
				to.Address = "stranger" + strconv.Itoa(i) + "@example.net"
			}
			if !yield(to, nil) {
				return
			}
		}
	}), nil)
	if err != nil {
		return err
	}
	job := notify.MessagingJob{Type: "voucher", GUID: "spring", Blob: payload.Blob, AudienceSize: payload.Recipients}
	if _, err := out.EnsureMessagingJob(ctx, nil, job); err != nil {
		return err
	}
	_, err = out.EnsureNotificationScheduler(ctx, nil, notify.ScheduleForCampaign(job, time.Time{}))
	return err
}

// watch has the database itself note when a call of a message starts and when its
// end is known, in that order.
func (p *posting) watch() {
	const (
		starts = `NEW.call_started_on IS NOT NULL AND (OLD.call_started_on IS NULL OR NEW.call_started_on <> OLD.call_started_on)`
		ends   = `NEW.status <> OLD.status AND NEW.status NOT IN ('Created', 'Sending', 'OutcomeUnknown')`
	)
	statements := []string{`CREATE TABLE chaos_calls (id bigserial PRIMARY KEY, message_id text, what text)`}
	for what, when := range map[string]string{"started": starts, "known": ends} {
		note := `INSERT INTO chaos_calls (message_id, what) VALUES (NEW.message_id, '` + what + `');`
		if p.driver.SQLite {
			statements[0] = `CREATE TABLE chaos_calls (id INTEGER PRIMARY KEY, message_id text, what text)`
			statements = append(statements, `CREATE TRIGGER chaos_`+what+` AFTER UPDATE ON outgoing_message WHEN `+when+` BEGIN `+note+` END`)
			continue
		}
		statements = append(statements,
			`CREATE FUNCTION chaos_`+what+`() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN `+note+` RETURN NEW; END$$`,
			`CREATE TRIGGER chaos_`+what+` AFTER UPDATE ON outgoing_message FOR EACH ROW WHEN (`+when+`) EXECUTE FUNCTION chaos_`+what+`()`)
	}
	p.with(func(ctx context.Context, _ *automation.Scheduler, _ *notify.Notifier, db DB) error {
		for _, statement := range statements {
			if err := db.Exec(ctx, statement); err != nil {
				return err
			}
		}
		return nil
	})
}

// isTold says of half of the messages that the provider calls back about them.
func isTold(id string) bool {
	return id != "" && strings.Contains("02468acegikmoqsuwy", id[len(id)-1:])
}

// callbacks tells what was delivered since it was last asked.
func (p *posting) callbacks() {
	var events []channel.StatusEvent
	for _, c := range p.provider.log() {
		if isTold(c.ID) {
			events = append(events, channel.StatusEvent{Provider: "chaos", EventID: c.ID, Kind: channel.KindDelivered, MessageID: c.ID})
		}
	}
	since := events[p.told:]
	p.told = len(events)
	if len(since) == 0 {
		return
	}
	p.with(func(ctx context.Context, _ *automation.Scheduler, out *notify.Notifier, _ DB) error {
		_, err := out.Track(ctx, since...)
		return err
	})
}

func (p *posting) settled() bool {
	return p.query(fmt.Sprintf(byStatus, "automation_scheduler"))[automation.StatusCompleted] == p.messages/2 &&
		p.query(fmt.Sprintf(byStatus, "messaging_job"))["Generated"] == 1 &&
		p.query("SELECT 'all', count(*) FROM outgoing_message")["all"] == p.messages
}

// checkDoubts compares what is listed as in doubt with the calls whose end the
// database has not seen, and with those that the provider could not answer.
func (p *posting) checkDoubts() map[string]bool {
	want, listed := map[string]bool{}, map[string]bool{}
	for id := range p.query(`SELECT message_id, 1 FROM chaos_calls c WHERE what = 'started'
		AND NOT EXISTS (SELECT 1 FROM chaos_calls e WHERE e.message_id = c.message_id AND e.id > c.id)`) {
		want[id] = true
	}
	p.with(func(ctx context.Context, _ *automation.Scheduler, out *notify.Notifier, _ DB) error {
		for p := (storage.Page{}); ; {
			held, next, err := out.Support().Held(ctx, "", reasons.OutcomeUnknown, p)
			for _, m := range held {
				listed[m.MessageID] = m.Status == "OutcomeUnknown"
			}
			if p.After = next; err != nil || next == "" {
				return err
			}
		}
	})
	if diff := cmp.Diff(want, listed); diff != "" || len(listed) == 0 {
		p.t.Errorf("%d in doubt (-the calls without an end +listed):\n%s", len(listed), diff)
	}
	for id := range p.provider.cut {
		if listed[id] == isTold(id) {
			p.t.Errorf("%s was cut off; told by a callback %v, in doubt %v", id, isTold(id), listed[id])
		}
	}
	if n := p.query("SELECT 'held', count(*) FROM outgoing_message WHERE is_on_support_hold")["held"]; n != len(listed) {
		p.t.Errorf("%d on hold, %d of them in doubt", n, len(listed))
	}
	return listed
}

// checkMessages accounts for every message.
func (p *posting) checkMessages(doubts map[string]bool) {
	calls, claims, people := map[string]int{}, map[string]int{}, map[string]int{}
	for _, c := range p.provider.log() {
		calls[c.ID]++
		claims[c.ID+"/"+strconv.Itoa(c.Attempt)]++
		people[c.To]++
	}
	for what, n := range map[string]int{"claims": len(claims), "messages": len(calls)} {
		if n != len(p.provider.log()) {
			p.t.Errorf("%d calls for %d %s", len(p.provider.log()), n, what)
		}
	}
	all := p.query("SELECT message_id || ' ' || status, 1 FROM outgoing_message")
	byStatus := map[string]int{}
	for _, row := range slices.Sorted(maps.Keys(all)) {
		id, status, _ := strings.Cut(row, " ")
		byStatus[status]++
		want := "SentToProvider"
		switch {
		case doubts[id]:
			want = "OutcomeUnknown"
		case calls[id] == 0:
			want = "Skipped"
		case isTold(id):
			want = "Delivered"
		}
		if status != want {
			p.t.Errorf("message %s is %s, want %s after %d calls", id, status, want, calls[id])
		}
	}
	if len(all) != p.messages || byStatus["Skipped"] != p.kept {
		p.t.Errorf("messages at rest %v, want %d, %d of them skipped", byStatus, p.messages, p.kept)
	}
}

// deaf is a provider that cannot be asked what became of a message, and does not
// filter repeats.
type deaf struct{ to *client }

func (deaf) Key() string { return channelKey }

func (d deaf) Send(ctx context.Context, m channel.Message) (channel.Receipt, error) {
	return d.to.Send(ctx, m)
}

// postGates are all gates that there are, and each has something to say.
func postGates(store storage.Store) []gate.Gate {
	return gate.New(store, &gate.Options{
		Guard:  &gate.Guard{Allow: []string{"@example.com"}},
		Caps:   []gate.Cap{{Limit: 1, Per: 10 * time.Minute}},
		Window: &gate.Window{From: "00:30", To: "23:30", Spread: time.Minute},
		Rates:  []gate.Rate{{Channel: channelKey, Limit: 1000, Per: time.Second, Burst: 400}},
	})
}

// post is the host's program with reminders, a campaign and gates, over a provider
// that is deaf. What is in doubt waits for a person.
func post(store storage.Store, provider string) (*automation.Scheduler, *notify.Notifier) {
	out := notify.New(store, &notify.Options{Gates: postGates(store)}, deaf{&client{url: provider}})
	out.Register(notify.Type{Name: "voucher", Renderer: notify.Template{Subject: "A voucher"}})
	reminders := automation.New(store, out, nil)
	reminders.Register(automation.ReminderType{
		Name:     "visit",
		Template: notify.Template{Subject: "Your visit on {{.TargetDate}}"},
		Recipients: automation.RecipientFunc(func(_ context.Context, d automation.Due) ([]notify.Recipient, error) {
			return []notify.Recipient{person(d.Source.ID)}, nil
		}),
	})
	return reminders, out
}

func person(name string) notify.Recipient {
	return notify.Recipient{Ref: name, Channel: channelKey, Address: name + "@example.com"}
}

func (p *posting) visit(i int) automation.Candidate {
	return automation.Candidate{
		Type: "visit", Source: automation.Source{Type: "car", ID: fmt.Sprintf("p%05d", i)},
		TargetDate: p.today.AddDays(-1), DaysBefore: -1, SendAt: "00:00", Zone: "UTC", // the day after: it may be late
	}
}
