package support_test

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/belfry-go/belfry"
	"github.com/belfry-go/belfry/automation"
	"github.com/belfry-go/belfry/automation/threshold"
	"github.com/belfry-go/belfry/internal/testlevel"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/notify/channel"
	"github.com/belfry-go/belfry/reasons"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/support"
	"github.com/belfry-go/belfry/survey"
)

// cause is something that happens to a person, and what the verdict has to say of it.
type cause struct {
	typ     string
	outcome support.Outcome
	reason  string
	says    string // in the verdict
	before  func(s *school, person string)
	after   func(s *school, person string) // when it is over
}

func address(person string) string { return person + "@example.com" }

const onTheDay = " on 17 April 2026, 09:00 UTC"

// causes are ways to get something, and not to.
var causes = map[string]cause{
	"it was sent": {typ: "certificate", outcome: support.Sent, says: `was sent "certificate, 7 days before 2026-04-24" by email:school on 17 April 2026, 09:00 UTC; no word yet that it arrived`,
		before: func(s *school, p string) { s.remind(p, nil) }},
	"it arrived": {typ: "certificate", outcome: support.Reached, says: `got "certificate, 7 days before 2026-04-24" by email:school on 17 April 2026`,
		before: func(s *school, p string) { s.remind(p, nil) },
		after:  func(s *school, p string) { s.report(p, channel.KindDelivered) }},
	"it came back": {typ: "certificate", outcome: support.Failed, reason: "550", says: "did not get \"certificate, 7 days before 2026-04-24\" on 17 April 2026, 09:00 UTC: it came back: the mailbox does not exist (550)",
		before: func(s *school, p string) { s.remind(p, nil) },
		after:  func(s *school, p string) { s.report(p, channel.KindBounced) }},
	"it came back without a code": {typ: "certificate", outcome: support.Failed, reason: "Bounced", says: "on 17 April 2026, 09:00 UTC: it came back",
		before: func(s *school, p string) { s.remind(p, nil) },
		after:  func(s *school, p string) { s.reporting(p, channel.KindBounced, "") }},
	"no address": {typ: "certificate", outcome: support.Withheld, reason: "NoRecipients",
		says:   `did not get "certificate, 7 days before 2026-04-24"` + onTheDay + ": no recipient or address was on file (NoRecipients)",
		before: func(s *school, p string) { s.noAddress[p] = true; s.remind(p, nil) }},
	"the source has gone": {typ: "certificate", outcome: support.Withheld, reason: "SourceNoLongerValid", says: onTheDay + ": what it was about is no longer valid",
		before: func(s *school, p string) { s.gone[p] = true; s.remind(p, nil) }},
	"the setting was off": {typ: "certificate", outcome: support.Withheld, reason: "ReminderSettingInactive", says: "its setting was switched off",
		before: func(s *school, p string) {
			s.remind(p, func(c *automation.Candidate) { c.Setting = "off-" + p })
			s.off["off-"+p] = true
		}},
	"a person cancelled it": {typ: "certificate", outcome: support.Withheld, reason: "CancelledBySupport", says: "a person cancelled it",
		before: func(s *school, p string) {
			s.must(s.reminders.Support().Cancel(s.Context(), tenant, s.remind(p, nil), by))
		}},
	"a person holds it": {typ: "certificate", outcome: support.NeedsYou, reason: "HeldBySupport", says: "waits for a person: a person put it on hold",
		before: func(s *school, p string) {
			s.must(s.reminders.Support().Hold(s.Context(), tenant, s.remind(p, nil), by))
		}},
	"the host ended it": {typ: "certificate", outcome: support.Withheld, reason: "Invalidated", says: "the program ended it",
		before: func(s *school, p string) {
			s.remind(p, nil)
			_, err := s.reminders.Deactivate(s.Context(), tenant, "certificate", employee(p), reasons.Invalidated)
			s.must(err)
		}},
	"the date has moved": {typ: "certificate", outcome: support.Planned, says: `has not got "certificate, 7 days before 2026-06-24" yet: it comes on 17 June 2026, 09:00 UTC`,
		before: func(s *school, p string) {
			s.remind(p, func(c *automation.Candidate) { c.TargetDate = automation.Date{Year: 2026, Month: 6, Day: 24} })
		}},
	"nobody serves it": {typ: "unserved", outcome: support.UnderWay, says: `has not got "unserved, 7 days before 2026-04-24" yet: it is under way`,
		before: func(s *school, p string) {
			s.remind(p, func(c *automation.Candidate) { c.Type, c.SendAt, c.Zone = "unserved", "09:00", "UTC" })
		}},
	"it went to others": {typ: "certificate", outcome: support.Withheld, says: "it went to others (1)",
		before: func(s *school, p string) { s.others[p] = true; s.remind(p, nil) }},
	"nobody asked": {typ: "certificate", reason: "ProviderGaveNone", says: `never got "certificate": the program has not requested it: the provider asks for none (ProviderGaveNone)`,
		before: func(*school, string) {}},
	"nobody serves its job": {typ: "unserved news", outcome: support.UnderWay, says: `has not got "unserved news" yet: it is under way`,
		before: func(s *school, p string) { s.job("unserved news", p) }},
	"the address is bad": {typ: "news", outcome: support.Withheld, reason: "BadAddress", says: "messages cannot be delivered to the address",
		before: func(s *school, p string) { s.write(p, "nowhere") }},
	"opted out": {typ: "news", outcome: support.Withheld, reason: "OptedOut", says: " UTC: the recipient has opted out of it (OptedOut)",
		before: func(s *school, p string) {
			s.must(s.out.Contacts().SetPreferences(s.Context(), notify.Preference{Scope: tenant, RecipientRef: p, Type: "news", OptedOut: true}))
			s.write(p, address(p))
		}},
	"support stopped all mail": {typ: "news", outcome: support.Withheld, reason: "StoppedBySupport", says: "a person has stopped messages to the recipient",
		before: func(s *school, p string) {
			s.must(s.out.Contacts().Stop(s.Context(), tenant, p, "", by))
			s.write(p, address(p))
		}},
	"suppressed": {typ: "news", outcome: support.Withheld, reason: "Suppressed", says: "the address bounced, complained, unsubscribed or was suppressed",
		before: func(s *school, p string) {
			s.must(s.out.Contacts().Suppress(s.Context(), tenant, channel.HardBounce, by, notify.Destination{Method: "email", Address: address(p)}))
			s.write(p, address(p))
		}},
	"the provider refused": {typ: "news", outcome: support.Failed, reason: "550", says: "the mailbox does not exist (550)",
		before: func(s *school, p string) {
			s.answers[address(p)] = channel.Permanent("550", nil)
			s.write(p, address(p))
		}},
	"the provider refused, with a code that only it knows": {typ: "news", outcome: support.Failed, reason: "Z9", says: "the provider answered with the code Z9",
		before: func(s *school, p string) {
			s.answers[address(p)] = channel.Permanent("Z9", nil)
			s.write(p, address(p))
		}},
	"the school no longer wants the message": {typ: "invoice", outcome: support.Withheld, reason: "Paid", says: "the program's reason was: Paid",
		before: func(s *school, p string) { s.telling("invoice", p, address(p)) }},
	"the school cancelled the lesson": {typ: "certificate", outcome: support.Withheld, reason: "Cancelled", says: "since the program's reason was: Cancelled",
		before: func(s *school, p string) {
			s.remind(p, nil)
			_, err := s.reminders.Deactivate(s.Context(), tenant, "certificate", employee(p), "Cancelled")
			s.must(err)
		}},
	"the school no longer wants the reminder": {typ: "certificate", outcome: support.Withheld, reason: "410", says: "since the program's reason was: 410",
		before: func(s *school, p string) {
			s.remind(p, nil)
			_, err := s.reminders.Deactivate(s.Context(), tenant, "certificate", employee(p), "410")
			s.must(err)
		}},
	"nobody knows": {typ: "news", outcome: support.NeedsYou, reason: "OutcomeUnknown", says: `may have got "news"`,
		before: func(s *school, p string) {
			s.answers[address(p)] = channel.Unknown("timeout", nil)
			s.write(p, address(p))
		}},
	"it was called off": {typ: "news", outcome: support.Withheld, reason: "Cancelled", says: "a person cancelled it",
		before: func(s *school, p string) {
			m := s.write(p, address(p))
			s.must(s.out.Support().Cancel(s.Context(), tenant, notify.ArtifactOutgoingMessage, m, by))
		}},
	"it was stale": {typ: "news", outcome: support.Withheld, reason: "TooLate", says: "it was too late to send it",
		before: func(s *school, p string) {
			s.writing(notify.OutgoingMessage{RecipientRef: p, Address: address(p), PartitionKey: "stale-" + p, ScheduledOn: s.clk.Now().Add(time.Hour), ValidUntil: s.clk.Now().Add(2 * time.Hour)})
		}},
	"it is tried again": {typ: "news", outcome: support.UnderWay, reason: "429", says: "it is under way, and waits: the provider asked us to slow down (429)",
		before: func(*school, string) {},
		after: func(s *school, p string) {
			s.answers[address(p)] = channel.Transient("429", 0, nil)
			s.write(p, address(p))
			s.drainOnce()
		}},
	"in the inbox alone": {typ: "news", outcome: support.Withheld, reason: "BadAddress", says: "(BadAddress); it is in the inbox",
		before: func(s *school, p string) { s.tell(p, "nowhere") }},
	"a link was sent": {typ: "survey 7", outcome: support.Sent, says: "was sent",
		before: func(s *school, p string) { s.ask(p) }},
	"a link is on hold": {typ: "survey 7", outcome: support.NeedsYou, reason: "HeldBySupport", says: "a person put it on hold",
		before: func(s *school, p string) { s.must(s.surveys.Support().Hold(s.Context(), tenant, s.ask(p), by)) }},
	"a link was refused": {typ: "survey 7", outcome: support.Failed, reason: "550", says: "the mailbox does not exist (550)",
		before: func(s *school, p string) {
			s.answers[address(p)] = channel.Permanent("550", nil)
			s.ask(p)
		}},
	"its source asks for it no more": {typ: "certificate", outcome: support.Withheld, reason: "Superseded", says: `did not get "certificate, 7 days before 2026-04-24", planned for 17 April 2026, 09:00 UTC: withdrawn on 1 March 2026, 08:00 UTC, since its source changed (Superseded)`,
		before: func(s *school, p string) {
			s.remind(p, nil)
			_, err := s.reminders.Type("certificate").For(tenant).Clear(s.Context(), automation.About{ID: employee(p).ID, SourceType: employee(p).Type})
			s.must(err)
		}},
	"the school's policy left them out": {typ: "left out", outcome: support.Withheld, reason: "SkippedByPolicy", says: "the program's delivery policy left out every recipient",
		before: func(s *school, p string) { s.remind(p, func(c *automation.Candidate) { c.Type = "left out" }) }},
	"they were asked lately": {typ: "survey 8", outcome: support.Withheld, reason: "AskedLately", says: "the customer had been asked another survey recently",
		before: func(*school, string) {},
		after: func(s *school, p string) {
			for i := range 2 {
				s.askAgain(p, i)
				s.drainOnce()
			}
		}},
	"the old scheduler sent it": {typ: "certificate", outcome: support.Withheld, reason: "SentByOldJob", says: "the previous scheduler had already sent it",
		before: func(s *school, p string) { s.old[p] = true; s.remind(p, nil) }},
	"the school's code fails": {typ: "certificate", outcome: support.UnderWay, reason: "HandlerFailed", says: "it is under way, and waits: the program failed (HandlerFailed)",
		before: func(s *school, p string) { s.fails[p] = errors.New("nobody answers"); s.remind(p, nil) }},
	"the school's code panics": {typ: "certificate", outcome: support.UnderWay, reason: "HandlerPanicked", says: "it is under way, and waits: the program crashed (HandlerPanicked)",
		before: func(s *school, p string) { s.fails[p] = errPanic; s.remind(p, nil) }},
	"the school's code fails for good": {typ: "certificate", outcome: support.NeedsYou, reason: "PermanentFailure", says: "it waits for a person: the program refused it for good (PermanentFailure)",
		before: func(s *school, p string) {
			s.fails[p] = automation.Permanent(errors.New("no such form"))
			s.remind(p, nil)
		}},
	"two wishes under one key": {typ: "certificate", outcome: support.NeedsYou, reason: "InputConflict", says: "it waits for a person: it was asked for twice with different contents (InputConflict)",
		before: func(s *school, p string) {
			s.remind(p, nil)
			other := wish(p)
			other.Identity = map[string]string{"form": "b"}
			if _, err := s.reminders.Ensure(s.Context(), other); err == nil {
				s.Error("another input is not a conflict")
			}
		}},
	"the provider gave no code": {typ: "news", outcome: support.Failed, reason: "Refused", says: "(Refused)",
		before: func(s *school, p string) {
			s.answers[address(p)] = channel.Permanent("", nil)
			s.write(p, address(p))
		}},
	"there is no text": {typ: "news", outcome: support.NeedsYou, reason: "RenderFailed", says: `has not got "news": it waits for a person`,
		before: func(s *school, p string) { s.fails[p] = errors.New("no template"); s.tell(p, address(p)) }},
	"it is paused": {typ: "paused", outcome: support.UnderWay, reason: "Paused", says: "it is under way, and waits: ",
		before: func(s *school, p string) {
			s.paused()
			s.writing(notify.OutgoingMessage{NotificationType: "paused", RecipientRef: p, Address: address(p), PartitionKey: "paused-" + p})
		}},
	"nobody was asked": {typ: "offer", outcome: support.Withheld, reason: "NoConsent", says: "(NoConsent)",
		before: func(s *school, p string) {
			s.writing(notify.OutgoingMessage{NotificationType: "offer", RecipientRef: p, Address: address(p), PartitionKey: "offer-" + p})
		}},
	"the environment sends to few": {typ: "news", outcome: support.Withheld, reason: "NotAllowed", says: "messages to the recipient are not allowed in this environment",
		before: func(s *school, p string) { s.write(p, p+"@elsewhere.example") }},
	"there was another": {typ: "capped", outcome: support.Withheld, reason: "FrequencyCap", says: "(FrequencyCap)",
		before: func(*school, string) {},
		after: func(s *school, p string) {
			for i := range 2 {
				s.writing(notify.OutgoingMessage{NotificationType: "capped", RecipientRef: p, Address: address(p), PartitionKey: fmt.Sprint("capped-", i, p)})
				s.drainOnce()
			}
		}},
	"it is quiet hours": {typ: "news", outcome: support.UnderWay, reason: "QuietHours", says: "(QuietHours)",
		before: func(s *school, p string) {
			s.writing(notify.OutgoingMessage{Channel: "sms:school", RecipientRef: p, Address: "+353851234567", PartitionKey: "sms-" + p, ScheduledOn: due})
		}},
	"they were erased": {typ: "certificate", reason: "ProviderGaveNone", says: "the program has not requested it", // nothing says who they were
		before: func(s *school, p string) {
			s.remind(p, nil)
			delete(s.reminded, p)
			_, err := s.poller.Privacy().Erase(s.Context(), tenant, belfry.Person{Ref: p}, belfry.By(by))
			s.must(err)
		}},
	"nobody was at work when it was due": {typ: "punctual", outcome: support.Withheld, reason: "TooLate", says: "it was too late to send it",
		before: func(s *school, p string) { s.remind(p, func(c *automation.Candidate) { c.Type = "punctual" }) }},
	"a link has no address": {typ: "survey 9", outcome: support.Withheld, reason: "BadAddress", says: "messages cannot be delivered to the address",
		before: func(s *school, p string) { s.askBy(9, "address", p, "nowhere-"+p, 0) }},
	"a link was refused without a code": {typ: "survey 7", outcome: support.Failed, reason: "Refused", says: "(Refused)",
		before: func(s *school, p string) {
			s.answers[address(p)] = channel.Permanent("", nil)
			s.ask(p)
		}},
	"others are asked": {typ: "survey 10", outcome: support.Withheld, reason: "NotSampled", says: "only a sample is asked, and this one was not in it",
		before: func(s *school, p string) {
			for n := 0; s.askBy(10, "share", p, address(p), n, `"schedule":`, `"contact": {"sample": 1}, "schedule":`) != survey.StatusSkipped; n++ { // one of a hundred is asked
			}
		}},
	"too many at once": {typ: "news", outcome: support.UnderWay, reason: "RateLimit", says: "(RateLimit)",
		before: func(s *school, p string) {
			for i := range 2 { // one an hour
				s.writing(notify.OutgoingMessage{Channel: "push:school", RecipientRef: p, Address: "device-" + address(p), PartitionKey: fmt.Sprint("push-", i, p), ScheduledOn: due})
			}
		}},
	"it asks for another date": {typ: "certificate", outcome: support.Withheld, reason: "InputChanged", says: "something else was asked for in its place",
		before: func(s *school, p string) { s.moved[p] = true; s.remind(p, nil) }},
	"the reading fell": {typ: "crowded", outcome: support.Withheld, reason: "ThresholdNoLongerMet", says: "the measurement was no longer past its threshold",
		before: func(s *school, p string) {
			for _, reading := range []string{"95", "10"} {
				s.remind(p, func(c *automation.Candidate) {
					*c = automation.Candidate{Scope: tenant, Type: "crowded", Source: c.Source, Person: p, Threshold: &threshold.Threshold{Metric: "occupancy", Value: "90", Reading: reading}}
				})
			}
		}},
	"the school's code failed to the end": {typ: "certificate", outcome: support.NeedsYou, reason: "RetriesExhausted", says: "it waits for a person: the last try failed (RetriesExhausted)",
		before: func(s *school, p string) {
			s.fails[p] = errors.New("nobody answers")
			s.remind(p, func(c *automation.Candidate) { c.DaysBefore = 53 }) // on 2 March
		}},
	"nobody could say whether it is wanted": {typ: "asked again", outcome: support.NeedsYou, reason: "RevalidationFailed", says: "it waits for a person: it is unknown whether it is still wanted (RevalidationFailed)",
		before: func(s *school, p string) {
			s.answers[address(p)] = channel.Transient("451", 0, nil)
			s.telling("asked again", p, address(p))
		}},
	"the provider is asked": {typ: "news", outcome: support.UnderWay, reason: "InDoubt", says: "may have got",
		before: func(*school, string) {},
		after: func(s *school, p string) {
			s.faxIsWell()
			s.answers["fax-"+address(p)] = channel.Unknown("", nil)
			s.writing(notify.OutgoingMessage{Channel: "fax:school", RecipientRef: p, Address: "fax-" + address(p), PartitionKey: "fax-" + p})
			s.drain()
		}},
	"the provider never had it": {typ: "news", outcome: support.UnderWay, reason: "Absent", says: "it is under way",
		before: func(*school, string) {},
		after: func(s *school, p string) {
			s.faxIsWell()
			s.answers["fax-"+address(p)] = channel.Unknown("", nil)
			s.lost["fax-"+address(p)] = true
			s.writing(notify.OutgoingMessage{Channel: "fax:school", RecipientRef: p, Address: "fax-" + address(p), PartitionKey: "fax-" + p})
			s.drain()
		}},
	"its campaign was called off": {typ: "paused", outcome: support.Withheld, reason: "CampaignCancelled", says: "(CampaignCancelled)",
		before: func(s *school, p string) {
			s.paused()
			payload, err := s.out.Campaigns().PutAudience(s.Context(), notify.AudienceOf(func(yield func(notify.Recipient, error) bool) {
				yield(notify.Recipient{Ref: p, Channel: "email:school", Address: address(p)}, nil)
			}), nil)
			s.must(err)
			_, err = s.out.Campaigns().Start(s.Context(), notify.MessagingJob{Scope: tenant, Type: "paused", GUID: p, Blob: payload.Blob, AudienceSize: payload.Recipients}, time.Time{})
			s.must(err)
		},
		after: func(s *school, p string) {
			s.must(s.out.Campaigns().Cancel(s.Context(), tenant, p, by))
			s.drainOnce()
		}},
	"they had read it": {typ: "patient", outcome: support.Withheld, reason: "Read", says: "the recipient had read it in the inbox",
		before: func(s *school, p string) {
			s.telling("patient", p, address(p))
			s.drainOnce()
			_, err := s.inbox(p).MarkUpTo(s.Context(), notify.MarkRead, s.inInbox(p))
			s.must(err)
		}},
	"they put it off": {typ: "patient", outcome: support.UnderWay, reason: "Snoozed", says: "the recipient put it off in the inbox",
		before: func(s *school, p string) {
			s.telling("patient", p, address(p))
			s.drainOnce()
			_, err := s.inbox(p).Snooze(s.Context(), due.Add(24*time.Hour), s.inInbox(p))
			s.must(err)
		}},
	"two links at once": {typ: "survey 8", outcome: support.UnderWay, reason: "AskedAtOnce", says: "(AskedAtOnce)",
		before: func(*school, string) {},
		after: func(s *school, p string) {
			for i := range 2 {
				s.askAgain(p, i)
			}
			s.drain()
		}},
	"nobody was at work when a link was due": {typ: "survey 12", outcome: support.Withheld, reason: "TooLate", says: "(TooLate)",
		before: func(s *school, p string) {
			s.askBy(12, "late", p, address(p), 0, `"initialDelay": "0d"`, `"initialDelay": "20d"`, `"schedule":`, `"expiryGrace": "1d", "schedule":`)
		}},
	"nobody knows of a link": {typ: "survey 7", outcome: support.NeedsYou, reason: "InDoubt", says: "(InDoubt)",
		before: func(s *school, p string) {
			s.answers[address(p)] = channel.Unknown("", nil)
			s.ask(p)
		}},
	"the provider never had a link": {typ: "survey 13", outcome: support.UnderWay, reason: "Absent", says: "(Absent)",
		before: func(*school, string) {},
		after: func(s *school, p string) {
			s.askBy(13, "faxed", "office", address("office"), s.sends, "email:school", "fax:school")
			s.drainOnce()
			s.answers[address(p)] = channel.Unknown("", nil)
			s.lost[address(p)] = true
			s.askBy(13, "faxed", p, address(p), 0, "email:school", "fax:school")
			s.drain()
		}},
	"the sends were stopped": {typ: "survey 7", outcome: support.Withheld, reason: "SendsStopped", says: "a person stopped its sends",
		before: func(s *school, p string) { s.must(s.surveys.Support().Cancel(s.Context(), tenant, s.ask(p), by)) }},
}

// paused pauses a type.
func (s *school) paused() {
	s.Helper()
	if !s.off["paused"] {
		s.off["paused"] = true
		s.must(s.out.Support().Pause(s.Context(), notify.Extent{Scope: tenant, Type: "paused"}, time.Time{}, by))
	}
}

// faxIsWell has the fax take a message. Twenty calls in a row without an answer are an
// outage, in which the next message would wait, whatever becomes of it.
func (s *school) faxIsWell() {
	s.Helper()
	s.writing(notify.OutgoingMessage{Channel: "fax:school", RecipientRef: "office", Address: address("office"), PartitionKey: fmt.Sprint("office-", s.sends)})
	s.drainOnce()
}

func (s *school) inbox(person string) notify.Inbox { return s.out.Inbox(tenant, "user:"+person) }

// inInbox is the row key of what is in somebody's inbox.
func (s *school) inInbox(person string) string {
	s.Helper()
	rows, _, err := s.inbox(person).Messages(s.Context(), first)
	s.must(err)
	if len(rows) != 1 {
		s.Fatal(person, rows)
	}
	return rows[0].RowKey
}

// askAgain makes a link of survey 8, which asks nobody twice in 90 days.
func (s *school) askAgain(person string, n int) {
	s.Helper()
	definition := strings.NewReplacer(`"schedule":`, `"contact": {"notAskedWithin": "90d"}, "schedule":`, `"recipient.address"]`, `"recipient.address", "candidate.visit"]`).Replace(visit)
	_, err := s.surveys.Publish(s.Context(), survey.Version{Scope: tenant, SurveyID: 8, Name: "Visit", Definition: json.RawMessage(definition)})
	s.must(err)
	_, err = s.surveys.Ingest(s.Context(), survey.Batch{Scope: tenant, EventKind: "visit-closed", Items: []survey.Item{{
		Payload: json.RawMessage(fmt.Sprintf(`{"visit": %d}`, n)), Recipient: survey.Recipient{Address: address(person), CustomerRef: person},
	}}})
	s.must(err)
}

// askBy makes a link of a survey of its own kind of event, whose definition is edited by
// pairs of old and new texts, and says what became of it.
func (s *school) askBy(id int64, kind, person, to string, n int, edit ...string) string {
	s.Helper()
	edit = append(edit, "visit-closed", kind, `"recipient.address"]`, `"recipient.address", "candidate.visit"]`)
	definition := strings.NewReplacer(edit...).Replace(visit)
	_, err := s.surveys.Publish(s.Context(), survey.Version{Scope: tenant, SurveyID: id, Name: "Visit", Definition: json.RawMessage(definition)})
	s.must(err)
	got, err := s.surveys.Ingest(s.Context(), survey.Batch{Scope: tenant, EventKind: kind, Items: []survey.Item{{
		Payload: json.RawMessage(fmt.Sprintf(`{"visit": %d}`, n)), Recipient: survey.Recipient{Address: to, CustomerRef: person},
	}}})
	s.must(err)
	i, _, err := s.surveys.Support().Instance(s.Context(), tenant, got.Items[0].Instances[0].PublicID)
	s.must(err)
	return i.Status
}

// write asks for one message without a job.
func (s *school) write(person, to string) string {
	s.Helper()
	return s.writing(notify.OutgoingMessage{RecipientRef: person, Address: to, PartitionKey: "news-" + person})
}

func (s *school) writing(m notify.OutgoingMessage) string {
	s.Helper()
	if m.Channel == "" && !strings.Contains(m.Address, "@") { // a job says so of its own recipients
		_, err := s.out.Notify(s.Context(), notify.Job{Scope: tenant, Type: "news", PartitionKey: "bad", RowKey: "bad-" + m.RecipientRef, EventData: json.RawMessage(`{}`),
			Recipients: []notify.Recipient{{Ref: m.RecipientRef, Channel: "email:school", Address: m.Address}}})
		s.must(err)
		return ""
	}
	m.Scope, m.Channel, m.NotificationType = tenant, cmp.Or(m.Channel, "email:school"), cmp.Or(m.NotificationType, "news")
	m.Content.Subject, m.Content.Text = cmp.Or(m.Content.Subject, "News"), "Hello"
	got, err := s.out.EnsureOutgoingMessage(s.Context(), nil, m)
	s.must(err)
	if got[0].MessageID == "" {
		return ""
	}
	rows, err := s.out.Support().MessagesByID(s.Context(), tenant, got[0].MessageID)
	s.must(err)
	return rows[0].Key
}

// job asks for a notification of a type.
func (s *school) job(typ, person string) {
	s.Helper()
	_, err := s.out.Notify(s.Context(), notify.Job{Scope: tenant, Type: typ, PartitionKey: "news", RowKey: typ + person,
		Recipients: []notify.Recipient{{Ref: person, Channel: "email:school", Address: address(person)}}})
	s.must(err)
}

// report is what a provider says of the last message.
func (s *school) report(person string, kind channel.StatusKind) {
	s.Helper()
	code := ""
	if kind == channel.KindBounced {
		code = "550"
	}
	s.reporting(person, kind, code)
}

func (s *school) reporting(person string, kind channel.StatusKind, code string) {
	s.Helper()
	rows, _, err := s.out.Support().MessagesOf(s.Context(), tenant, notify.Recipient{Ref: person}, first)
	s.must(err)
	if len(rows) != 1 {
		s.Fatal(person, rows)
	}
	_, err = s.out.Track(s.Context(), channel.StatusEvent{Provider: "school", EventID: string(kind) + person, Kind: kind, Code: code, MessageID: rows[0].MessageID})
	s.must(err)
}

func (s *school) drainOnce() {
	s.Helper()
	s.must(s.poller.Drain(s.Context()))
}

// Two hundred people, to whom things happen in a random mixture: the verdict knows the
// cause of each.
func TestAVerdictIsRight(t *testing.T) {
	t.Parallel()
	seeds := []uint64{1, 2126070266215939128} // the second has many faxes in doubt
	if testlevel.Has(t, testlevel.Nightly) {
		seeds = append(seeds, rand.Uint64(), rand.Uint64(), rand.Uint64())
	}
	for _, seed := range seeds {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) { aVerdictIsRight(t, seed) })
	}
}

func aVerdictIsRight(t *testing.T, seed uint64) {
	t.Helper()
	schools(t, func(s *school) {
		const people = 200
		names := make([]string, 0, len(causes))
		for name := range causes {
			names = append(names, name)
		}
		slices.Sort(names)
		random := rand.New(rand.NewPCG(seed, 0))
		of := make([]string, people)
		for i := range of { // each at least once, the rest at random
			of[i] = names[i%len(names)]
			if i >= len(names) {
				of[i] = names[random.IntN(len(names))]
			}
		}
		for i, name := range of {
			causes[name].before(s, fmt.Sprint("p", i))
		}
		for range 10 {
			s.clk.Add(24 * time.Hour)
			s.drain()
		}
		s.at(due)
		s.clk.Add(time.Minute)
		for i, name := range of {
			if after := causes[name].after; after != nil {
				after(s, fmt.Sprint("p", i))
			}
		}
		right := 0
		for i, name := range of {
			c := causes[name]
			v, err := s.desk.Verdict(s.Context(), tenant, fmt.Sprint("p", i), c.typ)
			s.must(err)
			if v.Outcome != c.outcome || v.Reason != c.reason || !strings.Contains(v.Text, c.says) {
				s.Errorf("p%d, %s: %s %s: %s", i, name, v.Outcome, v.Reason, v.Text)
				continue
			}
			right++
		}
		s.Logf("%d of %d", right, people)
	})
}

// The host's own words about an end stand in the place of the reason, and are personal: Text
// has the reason and its code in their place, and they go with the person.
func TestTheHostsWordsTakeThePlaceOfTheReason(t *testing.T) {
	schools(t, func(s *school) {
		const said = "renewed on 8 April until 2028-05-02"
		s.remind("sam", nil)
		_, err := s.reminders.Type("certificate").For(tenant).Clear(s.Context(), automation.About{ID: employee("sam").ID, SourceType: employee("sam").Type, Because: said})
		s.must(err)
		s.at(due)
		v, err := s.desk.Verdict(s.Context(), tenant, "sam", "certificate")
		s.must(err)
		if v.Entry == nil || v.Entry.Said != said || v.Reason != "Superseded" || !strings.HasSuffix(v.Text, ": withdrawn on 1 March 2026, 08:00 UTC, since its source changed (Superseded)") ||
			!strings.HasSuffix(v.Told, ": withdrawn on 1 March 2026, 08:00 UTC: "+said) {
			s.Errorf("%+v", v)
		}
		if got := s.actOn(sam, support.Order{Action: support.Erase, Confirm: "sam"}); !got.Done {
			s.Errorf("%+v", got)
		}
		left, _, err := s.desk.List(s.Context(), tenant, support.Reminders, storage.Page{})
		s.must(err)
		for _, e := range left {
			if e.Said != "" {
				s.Errorf("after an erasure: %+v", e)
			}
		}
	})
}

// Every code that the domains have is said to people in words.
func TestEveryReasonCodeIsSaidInWords(t *testing.T) {
	t.Parallel()
	if len(support.Codes()) < 70 {
		t.Errorf("%d codes", len(support.Codes()))
	}
	for _, c := range support.Codes() {
		if support.InWords(c.Code) == "" {
			t.Errorf("%s has no words", c.Code)
		}
	}
	for code := range support.Words {
		if support.Meaning("belfry", code) == "" {
			t.Errorf("%s is not a code", code)
		}
	}
}

// withoutCase are the codes that no cause of TestAVerdictIsRight has, by why.
var withoutCase = map[string][]string{
	"its row is found by its key, not by a person": {
		reasons.NoRecipients, reasons.NoDestination, reasons.RenderFailed, reasons.ArtifactMissing, reasons.Conflict, reasons.NoSubscribers,
		reasons.NotSeeded, reasons.Disabled, reasons.PayloadIncompatible, reasons.PayloadMissing, reasons.HashKeyChanged, reasons.EmptyDigest,
		reasons.SubscriptionInactive, reasons.ReportEmpty,
	},
	"of a message, and its link says more": {reasons.LinkOver},
	"the person is no longer known":        {reasons.PersonErased, reasons.Erased},
	"of dry runs":                          {reasons.Exists},
	"of the move from an old scheduler":    {reasons.Shadow, reasons.OwnershipConflict, reasons.DeliveryConflict},
	"of a process, a store or a deployment that fails": {
		reasons.LeaseExpired, reasons.Undecodable, reasons.Unserved, reasons.LeaseLost, reasons.PassFailed, reasons.GateFailed, reasons.NoChannel,
		reasons.AttachmentMissing, reasons.Quarantine, reasons.Forgotten, reasons.ChannelIncapable,
		reasons.LinkFailed, reasons.VersionUnreadable, reasons.WrongHashKey, reasons.NoOwner, reasons.ContentRefused,
	},
	"the verdict is of the one that went instead":         {reasons.Overtaken},
	"its link was sent, which is the verdict":             {reasons.ExpiresAfter},
	"a person or a policy decides, and then it is theirs": {reasons.IdempotencyWindowOver},
}

func TestEveryReasonCodeHasACauseOrAReasonForNone(t *testing.T) {
	t.Parallel()
	met, left, known := map[string]bool{}, map[string]bool{}, map[string]bool{}
	for _, c := range causes {
		met[c.reason] = true
	}
	for _, codes := range withoutCase {
		for _, code := range codes {
			left[code] = true
		}
	}
	for _, c := range support.Codes() {
		if !met[c.Code] && !left[c.Code] {
			t.Errorf("%s has no cause, and no reason for none is listed", c.Code)
		}
		known[c.Code] = true
	}
	for code := range left {
		if !known[code] {
			t.Errorf("%s is not a code", code)
		}
	}
}
