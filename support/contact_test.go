package support_test

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/notify/channel"
	"github.com/belfry-go/belfry/reasons"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/support"
)

// actOn acts on a person, or on an address.
func (s *school) actOn(target support.Target, o support.Order) support.Acted {
	s.Helper()
	o.By, o.Targets = by, []support.Target{target}
	got, err := s.desk.Act(s.Context(), tenant, o)
	s.must(err)
	return got[0]
}

// gets reports which of some types go out to sam.
func (s *school) gets(types ...string) (out []string) {
	s.Helper()
	for _, typ := range types {
		before := s.sends
		s.telling(typ, "sam", address("sam"))
		s.drain()
		s.clk.Add(time.Second)
		if s.sends > before {
			out = append(out, typ)
		}
	}
	return out
}

var sam = support.Target{Kind: support.KindPerson, Key: "sam"}

// A stop of support outranks what the person has chosen, however particular, but for what is
// mandatory. Without it all that the person has chosen stands as before, and what the person
// chooses meanwhile counts from then on.
func TestAStopOutranksThePersonsOwnChoices(t *testing.T) {
	schools(t, func(s *school) {
		s.register(notify.Type{Name: "password", Mandatory: true})
		s.register(notify.Type{Name: "discount", Group: "offers"})
		own := []notify.Preference{
			{Scope: tenant, RecipientRef: "sam", Type: "offer", Method: "email"},
			{Scope: tenant, RecipientRef: "sam", Group: "offers"},
			{Scope: tenant, RecipientRef: "sam", Type: "news", Method: "email"},
			{Scope: tenant, RecipientRef: "sam", Type: "paused", OptedOut: true},
		}
		s.must(s.out.Contacts().SetPreferences(s.Context(), own...))
		types := []string{"news", "offer", "discount", "paused", "password"}
		same := func(what string, want ...string) {
			s.Helper()
			if diff := cmp.Diff(want, s.gets(types...)); diff != "" {
				s.Errorf("%s: %s", what, diff)
			}
		}
		do := func(a support.Action, group string, want bool) {
			s.Helper()
			if got := s.actOn(sam, support.Order{Action: a, Group: group}); got.Done != want {
				s.Errorf("%s %q: %+v", a, group, got)
			}
		}
		same("before", "news", "offer", "discount", "password")
		do(support.Stop, "offers", true)
		do(support.Stop, "offers", false)
		same("the group is stopped", "news", "password")
		s.must(s.out.Contacts().SetPreferences(s.Context(), notify.Preference{Scope: tenant, RecipientRef: "sam", Type: "discount"}))
		same("whatever the person says meanwhile", "news", "password")
		do(support.Stop, "", true)
		same("all is stopped", "password")
		do(support.Allow, "", true)
		do(support.Allow, "", false)
		same("the group is stopped yet", "news", "password")
		do(support.Allow, "offers", true)
		do(support.Allow, "offers", false)
		same("after", "news", "offer", "discount", "password")
		do(support.Stop, "", true)
		same("all is stopped once more", "password")
		rows := s.story(support.About{Person: "sam"}, storage.Page{}).Past
		i := slices.IndexFunc(rows, func(e support.Entry) bool { return e.Kind == support.KindMessage && e.Type == "discount" })
		if e := rows[i]; e.Reason != reasons.StoppedBySupport || e.State() != support.StateSkipped || e.Because() != "A person has stopped messages to the recipient." {
			s.Errorf("%s %s %q", e.Reason, e.State(), e.Because())
		}
		if got := s.actOn(sam, support.Order{Action: support.Erase, Confirm: "sam"}); !got.Done {
			s.Errorf("%+v", got)
		}
		if left, err := s.out.Contacts().Preferences(s.Context(), tenant, "sam"); err != nil || len(left) != 0 {
			s.Errorf("after an erasure: %+v %v", left, err)
		}
		acts, _, err := s.desk.List(s.Context(), tenant, support.Audit, storage.Page{Limit: 100})
		s.must(err)
		if slices.ContainsFunc(acts, func(e support.Entry) bool { return e.Type == "recipient_preference" && e.Key+e.Steps[0].Detail != "" }) {
			s.Errorf("the audit of an erased person: %+v", acts)
		}
	})
}

// What a person gets is what the gate lets through: their own choices, and the stops of
// support, of which each says that it can be undone.
func TestTheChoicesOfAPersonSayWhatTheyGet(t *testing.T) {
	schools(t, func(s *school) {
		choices := func() (out [][3]bool) { // stopped, by a stop of its own, to be asked for
			for _, c := range s.story(support.About{Person: "sam"}, storage.Page{}).Choices {
				out = append(out, [3]bool{c.Stopped, c.BySupport, c.OptIn})
			}
			return out
		}
		same := func(what string, want ...[3]bool) {
			s.Helper()
			if diff := cmp.Diff(want, choices()); diff != "" {
				s.Errorf("%s: %s", what, diff)
			}
		}
		same("nothing was said", [3]bool{}, [3]bool{true, false, true})
		s.actOn(sam, support.Order{Action: support.Stop})
		same("all is stopped", [3]bool{true, true, false}, [3]bool{true, false, true})
		s.must(s.out.Contacts().SetPreferences(s.Context(), notify.Preference{Scope: tenant, RecipientRef: "sam", Group: "offers"}))
		same("and wanted", [3]bool{true, true, false}, [3]bool{true, false, true})
		s.actOn(sam, support.Order{Action: support.Allow})
		same("allowed", [3]bool{}, [3]bool{false, false, true})
		s.actOn(sam, support.Order{Action: support.Stop, Group: "offers"})
		same("the group is stopped", [3]bool{}, [3]bool{true, true, true})
		if all := s.story(support.About{Person: "sam"}, storage.Page{}).Consent; len(all) != 2 || all[0].BySupport || all[0].OptedOut || !all[1].BySupport || !all[1].OptedOut {
			s.Errorf("%+v", all)
		}
		s.must(s.out.Contacts().SetPreferences(s.Context(), notify.Preference{Scope: tenant, RecipientRef: "sam", OptedOut: true}))
		s.actOn(sam, support.Order{Action: support.Allow, Group: "offers"})
		same("everything is left, but for the group", [3]bool{true, false, false}, [3]bool{false, false, true})
		if err := s.out.Contacts().SetPreferences(s.Context(), notify.Preference{Scope: tenant, RecipientRef: "sam", OptedOut: true, BySupport: true}); err == nil {
			s.Error("a stop was stored as a choice of the person")
		}
	})
}

// Messages to a person are stopped and allowed by somebody and for a reason, and a dry run
// does nothing. An address that was blocked is unblocked.
func TestMessagesToAPersonAreStopped(t *testing.T) {
	schools(t, func(s *school) {
		stop := support.Order{Action: support.Stop}
		dry := stop
		dry.DryRun = true
		if got := s.actOn(sam, dry); !got.Done || got.Effect == "" || len(s.gets("news")) != 1 {
			s.Errorf("%+v", got)
		}
		if got := s.actOn(sam, stop); !got.Done || len(s.gets("news")) != 0 {
			s.Errorf("%+v", got)
		}
		if got := s.actOn(sam, stop); got.Done || got.Refused != "it is stopped already" {
			s.Errorf("twice: %+v", got)
		}
		if got := s.actOn(sam, support.Order{Action: support.Allow}); !got.Done || len(s.gets("news")) != 1 {
			s.Errorf("%+v", got)
		}
		s.must(s.out.Contacts().Suppress(s.Context(), tenant, channel.Complaint, by, notify.Destination{Method: "email", Address: address("sam")}))
		story := s.story(support.About{Person: "sam"}, storage.Page{})
		if len(story.Addresses) != 1 || story.Addresses[0].Blocked != channel.Complaint || story.Addresses[0].By != "Support" {
			s.Errorf("%+v", story.Addresses)
		}
		at := support.Target{Kind: support.KindAddress, Key: "email:" + address("sam")}
		if got := s.actOn(at, support.Order{Action: support.Unblock}); !got.Done || len(s.gets("news")) != 1 {
			s.Errorf("%+v", got)
		}
		if got := s.actOn(at, support.Order{Action: support.Unblock}); got.Done {
			s.Errorf("it was not blocked: %+v", got)
		}
		actions, err := s.desk.LastActions(s.Context(), tenant)
		if err != nil || len(actions) != 3 || actions[0].What != "address unblocked" {
			s.Errorf("%v %+v", err, actions)
		}
		if reasons, err := s.desk.LastReasons(s.Context(), tenant); err != nil || len(reasons) != 1 || reasons[0] != by.Reason {
			s.Errorf("%v %q", err, reasons)
		}
	})
}
