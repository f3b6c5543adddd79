package support_test

import (
	"strings"
	"testing"
	"time"

	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/notify/channel"
	"github.com/belfry-go/belfry/support"
)

// doubts are messages to people whose provider gives no answer.
func (s *school) doubts(people ...string) {
	s.Helper()
	for _, p := range people {
		s.answers[address(p)] = channel.Unknown("timeout", nil)
		s.write(p, address(p))
	}
	s.drain()
}

func (s *school) outages(scope support.Scope) []support.Outage {
	s.Helper()
	all, more, err := s.desk.Doubts(s.Context(), scope)
	s.must(err)
	if more {
		s.Error("there are more")
	}
	return all
}

// Messages in doubt are told by the outage that left them so, and one decision resolves them:
// a dry run says how many there are and how earlier doubts ended, and another day's, and
// another tenant's, stay.
func TestTheDoubtsOfAnOutageAreResolvedAtOnce(t *testing.T) {
	schools(t, func(s *school) {
		began := s.clk.Now().UTC()
		s.doubts("ann", "ben", "zoe")
		s.report("zoe", channel.KindDelivered)
		s.clk.Add(20 * time.Minute)
		s.doubts("kim")
		s.clk.Add(3 * time.Hour)
		s.doubts("lea")
		s.clk.Add(30 * time.Minute)
		s.drain()
		all := s.outages(tenant)
		if len(all) != 2 || all[0].Rows != 3 || all[1].Rows != 1 || all[0].Channel != "email:school" || all[0].From.After(began) || !all[0].Until.After(began.Add(20*time.Minute)) || !all[0].Until.Before(all[1].From) {
			s.Fatalf("%+v", all)
		}
		if south := s.outages("south"); len(south) > 0 {
			s.Errorf("%+v", south)
		}
		o := support.Order{Action: support.Resolve, Decision: notify.DecideSent, DryRun: true, By: by, Evidence: "its log", Targets: []support.Target{{Part: all[0].Part}}}
		for range 2 {
			if a := s.act(tenant, o)[0]; !a.Done || a.Sends != 0 || !strings.HasPrefix(a.Effect, "counts as sent: 3 of unknown outcome by email:school, called from ") || !strings.HasSuffix(a.Effect, "; of earlier unknown outcomes, 1 of 1 had arrived") {
				s.Errorf("a dry run: %+v", a)
			}
		}
		again := o
		again.Decision = notify.DecideSendAgain
		if a := s.act(tenant, again)[0]; !a.Done || a.Sends != 3 || !strings.HasPrefix(a.Effect, "sends again: 3 of unknown outcome by") {
			s.Errorf("to send again: %+v", a)
		}
		const none = "no call in these hours has an unknown outcome"
		if a := s.act("south", o)[0]; a.Done || a.Refused != none {
			s.Errorf("in the south: %+v", a)
		}
		o.DryRun, o.Request = false, "outage-1"
		for range 2 { // the second has the first answer
			if a := s.act(tenant, o)[0]; !a.Done {
				s.Errorf("%+v", a)
			}
		}
		o.Request = ""
		if a := s.act(tenant, o)[0]; a.Done || a.Refused != none {
			s.Errorf("once more: %+v", a)
		}
		if left := s.outages(tenant); len(left) != 1 || left[0] != all[1] {
			s.Errorf("%+v", left)
		}
		actions, err := s.desk.LastActions(s.Context(), tenant)
		s.must(err)
		if len(actions) != 3 || actions[0].Steps[0].Actor != "kim" || actions[0].Steps[0].Detail != "a call (evidence: its log)" {
			s.Errorf("the audit: %+v", actions)
		}
		o.Targets[0].Part, o.Decision = all[1].Part, notify.DecideSendAgain
		o.Targets[0].Part.Everywhere = true
		delete(s.answers, address("lea"))
		if a := s.act("", o)[0]; !a.Done {
			s.Errorf("everywhere: %+v", a)
		}
		s.drain()
		if left := s.outages(tenant); len(left) > 0 {
			s.Errorf("%+v", left)
		}
	})
}

// What is too late to be sent again is refused, and does not stop the others.
func TestADoubtThatIsTooLateIsNotSentAgainWithTheOthers(t *testing.T) {
	schools(t, func(s *school) {
		s.answers[address("late")] = channel.Unknown("timeout", nil)
		s.writing(notify.OutgoingMessage{RecipientRef: "late", Address: address("late"), PartitionKey: "news-late", ValidUntil: s.clk.Now().Add(time.Hour)})
		s.doubts("ann", "ben")
		s.clk.Add(2 * time.Hour)
		s.drain()
		o := support.Order{Action: support.Resolve, Decision: notify.DecideSendAgain, DryRun: true, By: by, Targets: []support.Target{{Part: s.outages(tenant)[0].Part}}}
		const text = "; refuses 1, such as one since it was valid until 2026-03-01T09:00:00Z; the provider has reported on no earlier unknown outcome"
		if a := s.act(tenant, o)[0]; !a.Done || a.Sends != 2 || !strings.HasSuffix(a.Effect, text) {
			s.Errorf("%+v", a)
		}
		o.DryRun = false
		if a := s.act(tenant, o)[0]; !a.Done {
			s.Errorf("%+v", a)
		}
		if a := s.act(tenant, o)[0]; a.Done || a.Refused != "it was valid until 2026-03-01T09:00:00Z" {
			s.Errorf("the one that is left: %+v", a)
		}
	})
}

// An outage without its channel or hours, or with what does not belong to it, is not an order.
func TestAnOutageHasAChannelAndHours(t *testing.T) {
	schools(t, func(s *school) {
		from := s.clk.Now()
		whole := support.Part{Domain: "notify", Channel: "email:school", From: from, Until: from.Add(time.Hour)}
		for name, change := range map[string]func(*support.Part){
			"no channel":        func(p *support.Part) { p.Channel = "" },
			"no beginning":      func(p *support.Part) { p.From = time.Time{} },
			"no end":            func(p *support.Part) { p.Until = time.Time{} },
			"a type":            func(p *support.Part) { p.Type = "news" },
			"surveys":           func(p *support.Part) { p.Domain = "survey" },
			"one's own and all": func(p *support.Part) { p.OwnAccount, p.Everywhere = true, true },
			"a setting":         func(p *support.Part) { p.Setting = "certificate" },
		} {
			p := whole
			change(&p)
			if got, err := s.desk.Act(s.Context(), tenant, support.Order{Action: support.Resolve, Decision: notify.DecideSent, By: by, Targets: []support.Target{{Part: p}}}); err == nil {
				s.Errorf("%s: %+v", name, got)
			}
		}
		for _, a := range []support.Action{support.Pause, support.Resume} {
			if got, err := s.desk.Act(s.Context(), tenant, support.Order{Action: a, By: by, Targets: []support.Target{{Part: whole}}}); err == nil {
				s.Errorf("%s: %+v", a, got)
			}
		}
	})
}
