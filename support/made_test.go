package support_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/benbjohnson/clock"
	"github.com/google/go-cmp/cmp"

	"github.com/belfry-go/belfry/internal/storetest"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/notify/channel"
	"github.com/belfry-go/belfry/reasons"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/memory"
	"github.com/belfry-go/belfry/support"
)

// day is the span of the day on which the messages of these tests are made.
func day(s *school) notify.Made {
	today := s.clk.Now().UTC().Truncate(24 * time.Hour)
	return notify.Made{From: today, Until: today.AddDate(0, 0, 1)}
}

// A message has the same state on the list of its day, on its own page, on the entry of its
// reminder and in the counts, however its provider answered.
func TestAMessageHasOneStateEverywhere(t *testing.T) {
	schools(t, func(s *school) {
		people := map[string]support.State{"ann": support.StateArrived, "ben": support.StateFailed, "cem": support.StateFailed, "dia": support.StateSent, "eve": support.StateBlocked}
		s.must(s.out.Contacts().Suppress(s.Context(), tenant, channel.HardBounce, by, notify.Destination{Method: "email", Address: address("eve")}))
		s.answers[address("cem")] = channel.Permanent("550", nil)
		for who := range people {
			s.remind(who, nil)
		}
		s.at(due)
		s.report("ann", channel.KindDelivered)
		s.report("ben", channel.KindBounced)
		got, next, err := s.desk.Messages(s.Context(), tenant, day(s), storage.Page{})
		s.must(err)
		if len(got) != len(people) || next != "" {
			s.Fatalf("%d rows, next %q", len(got), next)
		}
		want := map[support.State]int{}
		for _, e := range got {
			state := people[e.Person]
			want[state]++
			one := s.story(support.About{MessageID: e.MessageID}, storage.Page{}).Past[0]
			if e.State() != state || one.State() != state || e.Occasion != "7 days before 2026-04-24" {
				s.Errorf("%s: %s on the list, %s on its page, not %s: %+v", e.Person, e.State(), one.State(), state, e)
			}
			for _, r := range s.story(support.About{Person: e.Person}, storage.Page{}).Past {
				if r.State() != state {
					s.Errorf("%s: its %s says %s, not %s", e.Person, r.Kind, r.State(), state)
				}
			}
			all := support.Occasions(s.story(support.About{Person: e.Person}, storage.Page{}).Past)
			if len(all) != 1 || len(all[0].Parts) != 1 || all[0].Kind != support.KindReminder {
				s.Errorf("%s: not one occasion: %+v", e.Person, all)
			}
		}
		counts, more, err := s.desk.CountMessages(s.Context(), tenant, day(s))
		s.must(err)
		found := map[support.State]int{}
		for _, c := range counts {
			found[support.State(c.Stage)] += c.N
		}
		if diff := cmp.Diff(want, found); diff != "" || more {
			s.Error(more, diff)
		}
		for state, n := range want {
			of := day(s)
			of.Stage = notify.Stage(state)
			if rows, _, err := s.desk.Messages(s.Context(), tenant, of, storage.Page{}); err != nil || len(rows) != n {
				s.Errorf("%s: %d rows, not %d: %v", state, len(rows), n, err)
			}
		}
		of := day(s)
		of.Stage = notify.StageMissing
		if rows, _, err := s.desk.Messages(s.Context(), tenant, of, storage.Page{}); err != nil || len(rows) != 3 {
			s.Errorf("%d did not get it: %v", len(rows), err)
		}
		if rows, _, err := s.desk.Messages(s.Context(), "south", day(s), storage.Page{}); err != nil || len(rows) != 0 {
			s.Errorf("another tenant: %v %v", rows, err)
		}
	})
}

// The state of a message is its stage, whatever its status and its reason.
func TestTheStateOfAMessageIsItsStage(t *testing.T) {
	t.Parallel()
	for _, status := range []string{"Created", "RetryReady", "Sending", "OutcomeUnknown", "SentToProvider", "Delivered", "Opened", "FailedFinal", "Skipped", "Expired", "Cancelled"} {
		for _, held := range []bool{false, true} {
			for _, reason := range []string{"", "550", reasons.Suppressed, reasons.BadAddress, reasons.TooLate, reasons.InDoubt, reasons.OutcomeUnknown} {
				m := notify.OutgoingMessage{Channel: "email:school", Status: status}
				m.IsOnSupportHold, m.ReasonCode = held, reason
				want := support.State(m.Stage())
				if got := support.StatesOf(&m); got != [2]support.State{want, want} {
					t.Errorf("%s, on hold: %t, %q: %v, not %s", status, held, reason, got, want)
				}
			}
		}
	}
}

// A message goes once more to another address, by a person who is named; the first stays as
// it is. It is refused where it would come twice, or to an address that is stopped.
func TestAMessageIsSentToAnotherAddress(t *testing.T) {
	schools(t, func(s *school) {
		s.answers[address("ann")] = channel.Permanent("550", nil)
		key := s.write("ann", address("ann"))
		s.drain()
		s.must(s.out.Contacts().Suppress(s.Context(), tenant, channel.HardBounce, by, notify.Destination{Method: "email", Address: "stopped@example.com"}))
		act := func(scope support.Scope, to string, dry bool) support.Acted {
			s.Helper()
			got, err := s.desk.Act(s.Context(), scope, support.Order{Action: support.SendTo, Targets: []support.Target{{Kind: support.KindMessage, Key: key}}, To: to, By: by, DryRun: dry})
			s.must(err)
			return got[0]
		}
		for to, why := range map[string]string{"nowhere": "that is not an address for email", address("ann"): "it went to that address already", "stopped@example.com": "messages to that address are stopped"} {
			if got := act(tenant, to, false); got.Done || got.Refused != why {
				s.Errorf("%s: %+v", to, got)
			}
		}
		if got := act("south", "new@example.com", false); !got.NotFound {
			s.Errorf("another tenant: %+v", got)
		}
		sends := s.sends
		if got := act(tenant, "new@example.com", true); !got.Done || got.Sends != 1 {
			s.Errorf("%+v", got)
		}
		s.drain()
		if s.sends != sends {
			s.Error("the dry run sent it")
		}
		sent := act(tenant, " new@Example.com", false)
		if !sent.Done || sent.MessageID == "" {
			s.Errorf("%+v", sent)
		}
		if got := act(tenant, "new@example.com", false); got.Done {
			s.Errorf("a second click: %+v", got)
		}
		s.drain()
		rows := s.story(support.About{Person: "ann"}, storage.Page{}).Past
		if diff := cmp.Diff([]string{"Message Sent news", "Message Failed 550 news"}, lines(rows)); diff != "" {
			s.Error(diff)
		}
		if s.sends != sends+1 || rows[0].Address != "new@example.com" || !has(whats(rows[1].Steps), "SendTo") {
			s.Errorf("%d %+v", s.sends-sends, rows)
		}
		of := support.By{Actor: by.Actor, Reason: by.Reason + " (message " + sent.MessageID + " in place of " + rows[1].MessageID + ")"}
		if rows[0].MessageID != sent.MessageID || !has(whats(rows[0].Steps), "SendTo") {
			s.Errorf("%+v: %+v", sent, rows[0])
		}
		acts, _, err := s.desk.List(s.Context(), tenant, support.Audit, storage.Page{Limit: 1})
		s.must(err)
		if step := acts[0].Steps[0]; acts[0].What != "message sent to another address" || step.Actor != of.Actor || step.Detail != of.Reason {
			s.Errorf("the audit: %+v", acts[0])
		}
		_, err = s.desk.Act(s.Context(), tenant, support.Order{Action: support.SendTo, Targets: []support.Target{{Kind: support.KindMessage, Key: key}}, By: by})
		if !errors.Is(err, support.ErrOrder) {
			s.Error("without an address: ", err)
		}
	})
}

// Who a message went to is found by the address in any spelling, though the message names
// its recipient; and by the number of the order that it is about.
func TestPeopleAreFoundByTheirAddress(t *testing.T) {
	schools(t, func(s *school) {
		s.tell("ann", "ann.lee@example.com")
		s.write("ben", "+353851234567")
		s.drain()
		order := "news-ann-" + s.clk.Now().Format("20060102150405")
		for text, who := range map[string]string{" Ann.Lee@EXAMPLE.com": "ann", order: ""} {
			hits, _, err := s.desk.Search(s.Context(), tenant, text, false)
			s.must(err)
			if len(hits) != 1 || hits[0].About.Person != who || who == "" && hits[0].About.MessageID == "" {
				s.Errorf("%s: %+v", text, hits)
			}
			if hits, _, err := s.desk.Search(s.Context(), "south", text, false); err != nil || len(hits) != 0 {
				s.Errorf("another tenant finds %+v %v", hits, err)
			}
		}
	})
}

// The rows of a form are read together, however many they are, and are named in its order.
func TestTheRowsOfAFormAreReadTogether(t *testing.T) {
	t.Parallel()
	clk := clock.NewMock()
	clk.Set(due.AddDate(0, -1, 0))
	spy := &storetest.Spy{Store: memory.New(&memory.Options{Clock: clk})}
	s := newSchool(t, spy, clk)
	var targets []support.Target
	for i := range 10 {
		who := fmt.Sprint("p", i)
		targets = append(targets,
			support.Target{Kind: support.KindMessage, Key: s.write(who, address(who))}, support.Target{Kind: support.KindReminder, Key: s.remind(who, nil)},
			support.Target{Kind: support.KindLink, Key: s.ask(who)}, support.Target{Kind: support.KindMessage, Key: fmt.Sprint("nothing", i)})
	}
	views := func(scope support.Scope, n int) ([]support.Entry, int) {
		before := spy.Begun()
		rows, err := s.desk.Rows(s.Context(), scope, targets[:n]...)
		s.must(err)
		return rows, spy.Begun() - before
	}
	_, few := views(tenant, 4)
	rows, many := views(tenant, len(targets))
	if few != many || few > 6 {
		s.Errorf("%d reads for 4 rows, %d for %d", few, many, len(targets))
	}
	for i, e := range rows {
		want := fmt.Sprint("p", i/4)
		if i%4 == 3 {
			want = ""
		}
		if e.Kind != targets[i].Kind || e.Key != targets[i].Key || e.Person != want || (e.Type == "") != (want == "") {
			s.Errorf("%d: %+v", i, e)
		}
	}
	rows, _ = views("south", len(targets))
	for _, e := range rows {
		if e.Person != "" {
			s.Errorf("another tenant's: %+v", e)
		}
	}
}

// An address is looked for among the newest 10,000 messages of all tenants, and a search says
// that there are older ones.
func TestASearchSaysThatItLookedAtTheNewestAlone(t *testing.T) {
	t.Parallel()
	clk := clock.NewMock()
	clk.Set(due)
	s := newSchool(t, memory.New(&memory.Options{Clock: clk}), clk)
	found := func(hits int, more bool) {
		s.Helper()
		if got, older, err := s.desk.Search(s.Context(), tenant, address("ann"), false); err != nil || len(got) != hits || older != more {
			s.Errorf("%+v %t %v", got, older, err)
		}
	}
	s.write("ann", address("ann"))
	found(1, false)
	for i := range 100 {
		others := make([]notify.OutgoingMessage, 100)
		for j := range others {
			others[j] = notify.OutgoingMessage{Scope: "south", Channel: "email:school", NotificationType: "news", PartitionKey: fmt.Sprint(i, "-", j),
				Address: "all@example.com", Content: notify.Content{Subject: "News", Text: "Hello"}}
		}
		_, err := s.out.EnsureOutgoingMessage(s.Context(), nil, others...)
		s.must(err)
	}
	found(0, true)
	if _, more, err := s.desk.Search(s.Context(), tenant, "no-address", false); err != nil || more {
		s.Errorf("%t %v", more, err)
	}
	s.write("ben", address("ann"))
	found(1, true)
}

// Messages of a day are found among many days, in pages, whatever the order of days.
func TestMessagesAreFoundByTheirDay(t *testing.T) {
	schools(t, func(s *school) {
		const days, each = 9, 7
		first := s.clk.Now().UTC().Truncate(24*time.Hour).AddDate(0, 0, 1)
		for d := range days {
			s.clk.Set(first.AddDate(0, 0, d))
			for i := range each {
				s.writing(notify.OutgoingMessage{RecipientRef: "sam", Address: address("sam"), PartitionKey: fmt.Sprint("news-", d, "-", i)})
				s.clk.Add(3 * time.Hour)
			}
		}
		for d := range days {
			of := notify.Made{From: first.AddDate(0, 0, d), Until: first.AddDate(0, 0, d+1)}
			var got []time.Time
			for after, pages := "", 0; pages == 0 || after != ""; pages++ {
				rows, next, err := s.desk.Messages(s.Context(), tenant, of, storage.Page{After: after, Limit: 3})
				s.must(err)
				for _, e := range rows {
					got = append(got, e.On)
				}
				if after = next; pages > each {
					s.Fatal("the pages do not end")
				}
			}
			var want []time.Time
			for i := each - 1; i >= 0; i-- {
				want = append(want, of.From.Add(time.Duration(i)*3*time.Hour))
			}
			if diff := cmp.Diff(want, got); diff != "" {
				s.Errorf("day %d: %s", d, diff)
			}
		}
	})
}
