package support_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/belfry-go/belfry"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/notify/channel"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/support"
)

var first = storage.Page{Limit: 1}

// troubled has a reminder, a message and a link of each sort that waits for a person.
func (s *school) troubled() map[string]support.Target {
	s.Helper()
	out := map[string]support.Target{}
	held := s.remind("held", nil)
	s.must(s.reminders.Support().Hold(s.Context(), tenant, held, by))
	out["reminder"] = support.Target{Kind: support.KindReminder, Key: held}
	s.answers[address("doubt")] = channel.Unknown("timeout", nil)
	s.answers[address("refused")] = channel.Permanent("550", nil)
	out["doubt"] = support.Target{Kind: support.KindMessage, Key: s.write("doubt", address("doubt"))}
	out["refused"] = support.Target{Kind: support.KindMessage, Key: s.write("refused", address("refused"))}
	out["link"] = support.Target{Kind: support.KindLink, Key: s.ask("link")}
	s.must(s.surveys.Support().Hold(s.Context(), tenant, out["link"].Key, by))
	s.drain()
	s.clk.Add(time.Hour)
	s.drain()
	return out
}

// What waits for a person is one list by cause, and each row of it can be seen.
func TestWhatNeedsAPersonIsOneListByCause(t *testing.T) {
	schools(t, func(s *school) {
		s.troubled()
		s.must(s.out.Support().Pause(s.Context(), notify.Extent{Scope: tenant, Type: "news"}, time.Time{}, by))
		for _, reach := range []storage.ScopeFilter{storage.Within(tenant), storage.Everywhere()} {
			health, err := s.desk.Health(s.Context(), reach)
			s.must(err)
			var got []string
			for _, n := range health.Needs {
				got = append(got, string(n.Kind)+" "+n.Table+" "+n.Reason+n.Name)
				if n.Table == "notification_pause" {
					continue
				}
				rows, next, err := s.desk.Waiting(s.Context(), tenant, n, storage.Page{})
				if err != nil || len(rows) != n.Rows || next != "" || rows[0].Outcome != support.NeedsYou {
					s.Errorf("%+v: %d rows, %v", n, len(rows), err)
				}
				if rows, _, err := s.desk.Waiting(s.Context(), "south", n, storage.Page{}); err != nil || len(rows) > 0 {
					s.Errorf("the south: %d rows, %v", len(rows), err)
				}
			}
			want := []string{"Doubt outgoing_message OutcomeUnknown", "Hold automation_scheduler HeldBySupport", "Hold survey_instance HeldBySupport", "Paused notification_pause news"}
			if diff := cmp.Diff(want, got); diff != "" {
				s.Error(diff)
			}
		}
		if health, err := s.desk.Health(s.Context(), storage.Within("south")); err != nil || len(health.Needs) > 0 {
			s.Errorf("the south: %+v, %v", health.Needs, err)
		}
	})
}

// The oldest of a cause is the row that was made first, whatever the order of keys; its list
// begins with it.
func TestTheOldestOfACauseWasMadeFirst(t *testing.T) {
	schools(t, func(s *school) {
		first := s.clk.Now().UTC()
		for i, who := range []string{"zoe", "ann", "mia"} {
			s.answers[address(who)] = channel.Unknown("timeout", nil)
			s.write(who, address(who))
			s.must(s.surveys.Support().Hold(s.Context(), tenant, s.ask(who), by))
			s.must(s.reminders.Support().Hold(s.Context(), tenant, s.remind(who, nil), by))
			if i == 0 { // other links, on hold for something else
				s.answers[address("ben")] = channel.Unknown("timeout", nil)
				s.ask("ben")
			}
			s.clk.Add(time.Minute)
		}
		s.drain()
		s.clk.Add(time.Hour)
		s.drain()
		health, err := s.desk.Health(s.Context(), storage.Within(tenant))
		s.must(err)
		if len(health.Needs) < 3 {
			s.Errorf("%+v", health.Needs)
		}
		for _, n := range health.Needs {
			rows, next, err := s.desk.Waiting(s.Context(), tenant, n, storage.Page{Limit: 1})
			s.must(err)
			if !n.Since.Equal(first) || len(rows) != 1 || rows[0].Person == "ann" || (next != "") != (n.Rows > 1) {
				s.Errorf("%s %s: since %v, first %v, next %q", n.Table, n.Reason, n.Since, rows, next)
			}
		}
	})
}

// Every action: a dry run says what it would do and changes nothing, a stranger's tenant
// has no such row, the action is done once, and the second time is refused.
func TestActionsAreDoneOnceAndADryRunDoesNothing(t *testing.T) {
	schools(t, func(s *school) {
		at := s.troubled()
		part := support.Target{Part: support.Part{Domain: "automation", Type: "certificate"}}
		channel := support.Target{Part: support.Part{Domain: "notify", Channel: "email:school"}}
		for _, c := range []struct {
			name   string
			order  support.Order
			second string // why it is refused the second time
		}{
			{"release", support.Order{Action: support.Release, Targets: []support.Target{at["reminder"], at["link"]}}, "it is not on hold"},
			{"resolve", support.Order{Action: support.Resolve, Decision: notify.DecideSent, Targets: []support.Target{at["doubt"]}}, "it is SentToProvider, not in doubt"},
			{"retry", support.Order{Action: support.Retry, Targets: []support.Target{at["refused"]}}, "it has its next attempt already"},
			{"cancel", support.Order{Action: support.Cancel, Targets: []support.Target{at["reminder"]}}, "it is Cancelled"},
			{"pause", support.Order{Action: support.Pause, Targets: []support.Target{part, channel}}, "it is paused already"},
			{"resume", support.Order{Action: support.Resume, Targets: []support.Target{part, channel}}, "it is not paused"},
		} {
			o := c.order
			o.By, o.DryRun = by, true
			for range 2 { // the second finds all as the first did
				for _, a := range s.act(tenant, o) {
					if !a.Done {
						s.Errorf("%s, dry: %+v", c.name, a)
					}
				}
			}
			if o.Action != support.Pause && o.Action != support.Resume {
				for _, a := range s.act("south", o) {
					if !a.NotFound || a.Done || a.Refused != "" {
						s.Errorf("%s in the south: %+v", c.name, a)
					}
				}
			}
			o.DryRun = false
			for _, a := range s.act(tenant, o) {
				if !a.Done {
					s.Errorf("%s: %+v", c.name, a)
				}
			}
			for _, a := range s.act(tenant, o) {
				if a.Done || a.Refused != c.second {
					s.Errorf("%s once more: %+v", c.name, a)
				}
			}
		}
		story := s.story(support.About{Person: "held"}, storage.Page{})
		steps := whats(story.Next[0].Steps)
		if diff := cmp.Diff([]string{"Hold", "Release", "Cancel: Pending to Cancelled"}, steps); diff != "" {
			s.Error("the audit: ", diff)
		}
	})
}

// The list of what was done says to which row, by whom and why; of whom nobody is to know
// any more, it says what.
func TestTheAuditNamesRowsAndWhoActed(t *testing.T) {
	schools(t, func(s *school) {
		key := s.remind("sam", nil)
		s.must(s.reminders.Support().Hold(s.Context(), tenant, key, by))
		last := func() support.Entry {
			rows, _, err := s.desk.List(s.Context(), tenant, support.Audit, storage.Page{})
			s.must(err)
			for _, e := range rows {
				if strings.HasPrefix(e.What, "reminder put on hold") {
					return e
				}
			}
			s.Fatalf("%+v", rows)
			return support.Entry{}
		}
		if e := last(); e.Key != key || e.Steps[0].Actor != by.Actor || e.Steps[0].Detail != by.Reason {
			s.Errorf("%+v", e)
		}
		_, err := s.poller.Privacy().Erase(s.Context(), tenant, belfry.Person{Ref: "sam"}, belfry.By(by))
		s.must(err)
		s.drain()
		if e := last(); e.Key != "" || e.Steps[0].Detail != "" {
			s.Errorf("after the erasure: %+v", e)
		}
	})
}

func (s *school) act(scope support.Scope, o support.Order) []support.Acted {
	s.Helper()
	got, err := s.desk.Act(s.Context(), scope, o)
	s.must(err)
	return got
}

// An order that makes no sense is an error, and nothing is done.
func TestAnOrderThatMakesNoSenseIsRefused(t *testing.T) {
	schools(t, func(s *school) {
		at := s.troubled()
		good := []support.Target{at["reminder"]}
		for name, o := range map[string]support.Order{
			"no action":         {Targets: good, By: by},
			"no target":         {Action: support.Release, By: by},
			"too many":          {Action: support.Release, By: by, Targets: make([]support.Target, support.MaxTargets+1)},
			"no key":            {Action: support.Release, By: by, Targets: []support.Target{{Kind: support.KindReminder}}},
			"nobody":            {Action: support.Release, Targets: good, By: support.By{Reason: "r"}},
			"no reason":         {Action: support.Release, Targets: good, By: support.By{Actor: "kim"}},
			"no decision":       {Action: support.Resolve, Targets: []support.Target{at["doubt"]}, By: by},
			"a reminder's":      {Action: support.Resolve, Decision: notify.DecideSent, Targets: good, By: by},
			"no such part":      {Action: support.Pause, Targets: []support.Target{{Part: support.Part{Domain: "survey"}}}, By: by},
			"type and channel":  {Action: support.Pause, Targets: []support.Target{{Part: support.Part{Domain: "notify", Type: "a", Channel: "b"}}}, By: by},
			"an inbox's":        {Action: support.Cancel, Targets: []support.Target{{Kind: support.KindInbox, Key: "x"}}, By: by},
			"a campaign's":      {Action: support.Retry, Targets: []support.Target{{Kind: support.KindCampaign, Key: "x"}}, By: by},
			"nobody's events":   {Action: support.Replay, Targets: []support.Target{{Part: support.Part{Domain: "survey"}}}, By: by},
			"all tenants' plan": {Action: support.Replan, Targets: []support.Target{{Part: support.Part{Domain: "automation", Everywhere: true}}}, By: by},
			"a mistyped person": {Action: support.Erase, Targets: []support.Target{{Kind: support.KindPerson, Key: "sam"}}, Confirm: "san", By: by},
			"two people":        {Action: support.Erase, DryRun: true, Targets: []support.Target{{Kind: support.KindPerson, Key: "sam"}, {Kind: support.KindPerson, Key: "kim"}}, By: by},
			"needless evidence": {Action: support.Release, Targets: good, Evidence: "p-1", By: by},
			"too long a name":   {Action: support.Release, Targets: good, Request: strings.Repeat("x", 201), By: by},
			"one wrong of many": {Action: support.Resolve, Decision: notify.DecideSent, Targets: []support.Target{good[0], at["doubt"]}, By: by},
		} {
			if got, err := s.desk.Act(s.Context(), tenant, o); err == nil {
				s.Errorf("%s: %+v", name, got)
			}
		}
		_, err := s.desk.Act(s.Context(), tenant, support.Order{Action: support.Resolve, Decision: notify.DecideSent, Targets: good, By: by})
		if !errors.Is(err, support.ErrOrder) {
			s.Error(err)
		}
	})
}
