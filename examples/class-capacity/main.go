// Command class-capacity shows reminders that are due when a number crosses a
// line. A class of 20 places is nearly full at 16 and full at 20. Four people
// hear of it, each under another firing policy, over one history of bookings and
// cancellations. The table shows who is told at which line, and the keys why.
//
//	go run ./examples/class-capacity
package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"text/tabwriter"
	"time"

	"github.com/benbjohnson/clock"

	"github.com/belfry-go/belfry"
	"github.com/belfry-go/belfry/automation"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/notify/channel"
	"github.com/belfry-go/belfry/storage/memory"
)

// people differ in nothing but their policy: it decides what of an occasion stands
// in the key of its row, and what was done under a key is never done again.
var people = []struct {
	name   string
	policy automation.FiringPolicy
}{
	{"Sara", automation.OncePerSource},
	{"Tom", automation.OncePerThreshold},
	{"Dana", automation.OncePerDay},
	{"Fay", automation.FalseToTrue},
}

// class measures. It says how many places are taken, also while no line is
// reached: that is how a fall is seen. The scheduler compares.
type class struct{}

func (class) EventTypes() []string { return []string{"class.changed"} }

func (class) Candidates(_ context.Context, e automation.Event) ([]automation.Candidate, error) {
	var all []automation.Candidate
	for _, p := range people {
		for _, line := range []string{"16", "20"} {
			all = append(all, automation.Candidate{Setting: p.name, Threshold: &automation.Threshold{
				Metric: "taken", Comparison: automation.AtLeast, Value: line, Reading: strconv.Itoa(e.Data.(int)), Policy: p.policy,
			}})
		}
	}
	return all, nil
}

func recipient(_ context.Context, d automation.Due) ([]notify.Recipient, error) {
	return []notify.Recipient{{Ref: d.Setting.ID, Channel: "email:table", Address: d.Setting.ID + "@studio.example"}}, nil
}

// history is what happens to the class. An event has the reading and its version;
// the table says whether it counted.
var history = []struct {
	day, hour, minute int
	what              string
	version           int64
	taken             int
}{
	{2, 9, 0, "bookings", 1, 15},
	{2, 10, 0, "a booking: nearly full", 2, 16},
	{2, 10, 1, "the same event once more", 2, 16},
	{2, 12, 0, "two cancel", 3, 14},
	{2, 15, 0, "nearly full again", 4, 17},
	{3, 9, 0, "next day, a booking", 5, 18},
	{3, 11, 0, "full", 6, 20},
	{3, 12, 0, "five cancel", 8, 15},
	{3, 12, 5, "one of before that, late", 7, 19},
	{4, 9, 0, "a group: full at once", 9, 20},
	{4, 17, 0, "three cancel", 10, 17},
	{4, 18, 0, "full again", 11, 20},
	{5, 9, 0, "nothing", 0, 20}, // no event: nothing fires by itself
}

// mails is the channel. It keeps the keys that were told, by person.
type mails struct {
	mu  sync.Mutex // Send is called from several goroutines
	new map[string][]string
}

func (m *mails) send(_ context.Context, msg channel.Message) (channel.Receipt, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	name, _, _ := strings.Cut(msg.To, "@")
	m.new[name] = append(m.new[name], msg.Subject)
	return channel.Receipt{ID: msg.ID}, nil
}

func main() {
	ctx, clk := context.Background(), clock.NewMock() // a real program leaves the clock out
	store := memory.New(&memory.Options{Clock: clk})
	outbox := &mails{}
	out := notify.New(store, nil, channel.Func("email:table", outbox.send))
	reminders := automation.New(store, out, nil)
	reminders.Register(automation.ReminderType{
		Name: "capacity", Zone: "Europe/Dublin", // where the days of OncePerDay begin
		Triggers: class{}, Recipients: automation.RecipientFunc(recipient), Template: notify.Template{Subject: "{{.Key}}"},
	})
	poller := belfry.NewPoller(store, nil, reminders, out)

	told, table := map[string][]string{}, tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "\twhat happens\ttaken\tevent\tSara\tTom\tDana\tFay")
	for _, step := range history {
		clk.Set(time.Date(2026, time.March, step.day, step.hour, step.minute, 0, 0, time.UTC))
		event, err := automation.EventResult{}, error(nil)
		if step.version > 0 {
			event, err = reminders.HandleEvent(ctx, automation.Event{
				Type: "class.changed", Source: automation.Source{Type: "class", ID: "yoga"}, Version: step.version, Data: step.taken,
			})
		}
		outbox.new = map[string][]string{}
		if errors.Is(err, automation.ErrStaleEvent) { // told late, and nothing is to be done
			err = nil
		}
		if err := errors.Join(err, poller.Drain(ctx)); err != nil {
			log.Fatal(err)
		}
		fmt.Fprintf(table, "%s\t%s\t%d\t%s", clk.Now().Format("Mon 15:04"), step.what, step.taken, event.Outcome)
		for _, p := range people {
			slices.Sort(outbox.new[p.name])
			told[p.name] = append(told[p.name], outbox.new[p.name]...)
			fmt.Fprint(table, "\t", lines(outbox.new[p.name]))
		}
		fmt.Fprintln(table)
	}
	_ = table.Flush()
	for _, p := range people {
		fmt.Printf("\n%s, %s:\n  %s\n", p.name, p.policy, strings.Join(told[p.name], "\n  "))
	}
}

// lines are those of keys, such as 16 of "…:threshold:taken:16:…".
func lines(keys []string) string {
	var all []string
	for _, key := range keys {
		all = append(all, strings.Split(key, ":")[7])
	}
	return cmp.Or(strings.Join(all, " "), ".")
}
