package support_test

import (
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/belfry-go/belfry/automation"
	"github.com/belfry-go/belfry/automation/report"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/notify/channel"
	"github.com/belfry-go/belfry/reasons"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/support"
	"github.com/belfry-go/belfry/survey"
)

// one is an order about one target.
func one(a support.Action, t support.Target) support.Order {
	return support.Order{Action: a, Targets: []support.Target{t}, By: by}
}

// only is the answer to an order about one target.
func (s *school) only(scope support.Scope, o support.Order) support.Acted {
	s.Helper()
	got := s.act(scope, o)
	if len(got) != 1 {
		s.Fatalf("%+v", got)
	}
	return got[0]
}

// Whatever is done says beforehand what it will do, and does it once: runs, campaigns,
// dead letters, plans.
func TestADryRunSaysWhatWillHappen(t *testing.T) {
	schools(t, func(s *school) {
		done := s.remind("done", nil)
		held := s.remind("held", nil)
		s.must(s.reminders.Support().Hold(s.Context(), tenant, held, by))
		s.answers[address("doubt")] = channel.Unknown("timeout", nil)
		s.answers[address("refused")] = channel.Permanent("550", nil)
		doubt, refused := s.write("doubt", address("doubt")), s.write("refused", address("refused"))
		asked := s.ask("link")
		s.must(s.surveys.Support().Hold(s.Context(), tenant, asked, by))
		_, err := s.reports.Create(s.Context(), report.Subscription{
			Scope: tenant, GUID: "8f14", Type: "sales", Name: "Sales", Zone: "UTC", Cadence: automation.Recurrence{Cron: "0 9 * * MON"},
			Recipients: []notify.Recipient{{Ref: "boss", Channel: "email:school", Address: "boss@example.com"}},
		})
		s.must(err)
		s.campaign("spring")
		s.dead()
		s.at(due)
		sam := support.Target{Kind: support.KindReminder, Key: done}
		for _, c := range []struct {
			order  support.Order
			effect string
			sends  int
			second string
		}{
			{one(support.Rerun, sam), "is sent once more, at once, to the recipients that the program names at that time", 0, "it has already been done once more"},
			{one(support.Release, support.Target{Kind: support.KindReminder, Key: held}), "is sent at once, to the recipients that the program names at that time", 0, "it is not on hold"},
			{one(support.Retry, support.Target{Kind: support.KindMessage, Key: refused}), "sends 1 message, if its gates let it through", 1, "it has its next attempt already"},
			{support.Order{
				Action: support.Resolve, Decision: notify.DecideSendAgain, Evidence: "the log of 9:14 has no such id",
				Targets: []support.Target{{Kind: support.KindMessage, Key: doubt}}, By: by,
			}, "sends 1 message", 1, "it is RetryReady, not in doubt"},
			{one(support.Release, support.Target{Kind: support.KindLink, Key: asked}), "its messages continue as planned; overdue ones go out at once", 0, "it is not on hold"},
			{one(support.Pause, support.Target{Kind: support.KindReport, Key: "8f14"}), "is not sent until a person resumes it", 0, "it is Paused"},
			{one(support.RunNow, support.Target{Kind: support.KindReport, Key: "8f14"}), "builds it, and sends it to its recipients", 0, ""},
			{one(support.Pause, support.Target{Kind: support.KindCampaign, Key: "spring"}), "makes no more messages until a person resumes it", 0, "it is Paused"},
			{one(support.Resume, support.Target{Kind: support.KindCampaign, Key: "spring"}), "continues with the recipients who have not got it yet", 0, "it is Created, not paused"},
			{one(support.Replay, support.Target{Part: support.Part{Domain: "survey", Subscriber: "bi"}}), "calls bi again for 1 events", 0, "the subscriber has no dead letters"},
			{one(support.Replan, support.Target{Part: support.Part{Domain: "automation", Type: "certificate"}}), "checks 2 sources: adds 0 reminders, changes 0, brings back 0, ends 0", 0, ""},
		} {
			dry := c.order
			dry.DryRun = true
			if a := s.only(tenant, dry); !a.Done || a.Effect != c.effect || a.Sends != c.sends {
				s.Errorf("%s %s, dry: %+v", c.order.Action, c.order.Targets[0].Kind, a)
			}
			if a := s.only("south", c.order); c.order.Targets[0].Kind != "" && !a.NotFound || a.Refused != "" && c.order.Action != support.Replay {
				s.Errorf("%s %s in the south: %+v", c.order.Action, c.order.Targets[0].Kind, a)
			}
			if a := s.only(tenant, c.order); !a.Done {
				s.Errorf("%s %s: %+v", c.order.Action, c.order.Targets[0].Kind, a)
			}
			if a := s.only(tenant, c.order); a.Refused != c.second {
				s.Errorf("%s %s once more: %+v", c.order.Action, c.order.Targets[0].Kind, a)
			}
		}
		story := s.story(support.About{MessageID: s.idOf(doubt)}, storage.Page{})
		told := false
		for _, step := range story.Past[0].Steps {
			told = told || step.Detail == "a call (evidence: the log of 9:14 has no such id)" && step.Actor == "kim"
		}
		if !told {
			s.Errorf("the evidence is not in the audit: %+v", story.Past[0].Steps)
		}
	})
}

// dead leaves one event that the subscriber of surveys was not able to take.
func (s *school) dead() {
	s.Helper()
	s.bi = automation.Permanent(errors.New("no such table"))
	id := s.ask("answers")
	s.drain()
	token, err := s.surveys.Link(s.Context(), tenant, id)
	s.must(err)
	_, err = s.surveys.Submit(s.Context(), token[strings.LastIndex(token, "/")+1:], survey.Response{Answers: json.RawMessage(`{"rate":5}`)})
	s.must(err)
	s.drain()
}

func (s *school) idOf(key string) string {
	s.Helper()
	for _, who := range []string{"doubt", "refused"} {
		all, _, err := s.out.Support().MessagesOf(s.Context(), tenant, notify.Recipient{Ref: who}, storage.Page{})
		s.must(err)
		for _, m := range all {
			if m.Key == key {
				return m.MessageID
			}
		}
	}
	s.Fatal("no such message")
	return ""
}

// Erasing a person says what it finds, wants the person typed once more, and says in the
// audit who asked for it.
func TestAPersonIsErasedBehindADryRunAndTheirName(t *testing.T) {
	schools(t, func(s *school) {
		s.tell("sam", address("sam"))
		s.remind("sam", nil)
		s.drain()
		o := one(support.Erase, support.Target{Kind: support.KindPerson, Key: "sam"})
		o.DryRun = true
		a := s.only(tenant, o)
		if !a.Done || !strings.Contains(a.Effect, "1 message") || !strings.Contains(a.Effect, "1 reminder,") {
			s.Errorf("%+v", a)
		}
		if got := s.story(support.About{Person: "sam"}, storage.Page{}); len(got.Past) != 2 || len(got.Next) != 1 {
			s.Errorf("the dry run erased: %+v", got)
		}
		if a := s.only("south", o); strings.Contains(a.Effect, "erases the person from") {
			s.Errorf("the south: %+v", a)
		}
		o.DryRun, o.Confirm, o.Request = false, "sam", "r-1"
		for range 2 {
			if a := s.only(tenant, o); !a.Done {
				s.Errorf("%+v", a)
			}
		}
		if got := s.story(support.About{Person: "sam"}, storage.Page{}); len(got.Past)+len(got.Next) != 0 || !got.Erased {
			s.Errorf("left: %+v", got)
		}
		if got := s.story(support.About{Person: "lea"}, storage.Page{}); got.Erased {
			s.Error("lea counts as erased, too")
		}
		if a, _, err := s.desk.List(s.Context(), tenant, support.Erasures, storage.Page{}); err != nil || len(a) != 1 {
			s.Errorf("one request has %d erasures: %v", len(a), err)
		}
	})
}

// The same request gets the first answer and does nothing, whatever was done meanwhile;
// another one under its id is refused; another actor's or tenant's has nothing to do with it.
func TestARequestIsDoneOnce(t *testing.T) {
	schools(t, func(s *school) {
		at := s.troubled()
		o := support.Order{Action: support.Release, Targets: []support.Target{at["reminder"], {Kind: support.KindReminder, Key: "nothing"}, at["refused"]}, By: by, Request: "r-1"}
		want := s.act(tenant, o)
		if !want[0].Done || !want[1].NotFound || want[2].Refused == "" {
			s.Fatalf("%+v", want)
		}
		s.must(s.reminders.Support().Hold(s.Context(), tenant, at["reminder"].Key, by))
		if diff := cmp.Diff(want, s.act(tenant, o)); diff != "" {
			s.Error("the second time: ", diff)
		}
		if held, _, err := s.reminders.Support().Held(s.Context(), tenant, reasons.HeldBySupport, storage.Page{}); err != nil || len(held) != 1 {
			s.Errorf("it was done twice: %v %v", held, err)
		}
		for name, change := range map[string]func(*support.Order){
			"action":  func(o *support.Order) { o.Action = support.Cancel },
			"targets": func(o *support.Order) { o.Targets = o.Targets[:1] },
			"reason":  func(o *support.Order) { o.By.Reason = "another" },
		} {
			other := o
			change(&other)
			if got, err := s.desk.Act(s.Context(), tenant, other); !errors.Is(err, support.ErrRequest) {
				s.Errorf("another %s: %+v %v", name, got, err)
			}
		}
		dry := o
		dry.DryRun = true
		if a := s.act(tenant, dry); !a[0].Done {
			s.Errorf("a dry run is asked anew: %+v", a)
		}
		if a := s.act("south", o); !a[0].NotFound {
			s.Errorf("the south: %+v", a)
		}
		lee := o
		lee.By.Actor = "lee"
		if a := s.act(tenant, lee); !a[0].Done {
			s.Errorf("another actor: %+v", a)
		}
	})
}

// Two of the same request at once: one operation, one answer.
func TestARequestThatComesTwiceAtOnceIsDoneOnce(t *testing.T) {
	schools(t, func(s *school) {
		at := s.troubled()
		o := one(support.Retry, at["refused"])
		o.Request = "r-1"
		var g sync.WaitGroup
		answers, errs := make([][]support.Acted, 4), make([]error, 4)
		for i := range answers {
			g.Go(func() { answers[i], errs[i] = s.desk.Act(s.Context(), tenant, o) })
		}
		g.Wait()
		for i := range answers {
			if errs[i] != nil || !answers[i][0].Done {
				s.Errorf("%d: %+v %v", i, answers[i], errs[i])
			}
		}
		all, _, err := s.out.Support().MessagesOf(s.Context(), tenant, notify.Recipient{Ref: "refused"}, storage.Page{})
		if err != nil || len(all) != 2 {
			s.Errorf("%d messages, %v", len(all), err)
		}
	})
}

// Answers stay a week. Then the Poller deletes them, and an old id is a new request.
func TestAnswersAreForgottenAfterAWeek(t *testing.T) {
	schools(t, func(s *school) {
		at := s.troubled()
		o := one(support.Release, at["reminder"])
		o.Request = "r-1"
		want := s.act(tenant, o)
		s.clk.Add(7*24*time.Hour - time.Minute)
		s.must(s.poller.Drain(s.Context()))
		if diff := cmp.Diff(want, s.act(tenant, o)); diff != "" {
			s.Error("within a week: ", diff)
		}
		s.clk.Add(24 * time.Hour) // it looks once a day
		s.must(s.poller.Drain(s.Context()))
		if a := s.only(tenant, o); a.Done || a.Refused == "" {
			s.Errorf("it is still known: %+v", a)
		}
	})
}

// campaign asks for a message to one recipient, which waits for its schedule.
func (s *school) campaign(guid string) {
	s.Helper()
	payload, err := s.out.Campaigns().PutAudience(s.Context(), notify.AudienceOf(func(yield func(notify.Recipient, error) bool) {
		yield(notify.Recipient{Ref: "member", Address: "member@example.com"}, nil)
	}), &notify.PayloadOptions{EventData: json.RawMessage(`{}`), Channel: "email:school"})
	s.must(err)
	_, err = s.out.EnsureMessagingJob(s.Context(), nil, notify.MessagingJob{Scope: tenant, Type: "news", GUID: guid, BusinessUnit: "club", Blob: payload.Blob, AudienceSize: payload.Recipients})
	s.must(err)
}
