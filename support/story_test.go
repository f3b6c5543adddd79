package support_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/benbjohnson/clock"
	"github.com/google/go-cmp/cmp"

	"github.com/belfry-go/belfry/automation"
	"github.com/belfry-go/belfry/internal/storetest"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/notify/channel"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/support"
)

// What happened to the rows of a page is read for all of them at once: another row costs no
// other statement.
func TestAPageIsFilledAtOnce(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, store storage.Store, clk *clock.Mock) {
		spy := &storetest.Spy{Store: store}
		s := newSchool(t, spy, clk)
		const each = 4
		for i := range each {
			key := s.remind("sam", func(c *automation.Candidate) { c.Setting = fmt.Sprint("setting-", i) })
			s.must(s.reminders.Support().Hold(s.Context(), tenant, key, by))
			s.must(s.reminders.Support().Release(s.Context(), tenant, key, by))
			s.writing(notify.OutgoingMessage{RecipientRef: "sam", Address: address("sam"), PartitionKey: fmt.Sprint("news-", i)})
		}
		s.ask("sam")
		s.at(due.Add(time.Minute))
		reads := map[string]int{}
		spy.SetHook(func(c storetest.Call) error {
			if c.Table != "" {
				reads[c.Table]++
			}
			return nil
		})
		got := s.story(support.About{Person: "sam"}, storage.Page{Limit: 100})
		kinds := map[support.Kind]int{}
		for _, e := range got.Past {
			kinds[e.Kind]++
			if e.Kind == support.KindReminder && (len(e.Messages) != 1 || !has(whats(e.Steps), "Release") && !has(whats(e.Steps), "Hold")) {
				s.Errorf("%s: %+v", e.Key, e)
			}
		}
		if kinds[support.KindReminder] != each || kinds[support.KindMessage] < 2*each || kinds[support.KindLink] != 1 || got.After != "" {
			s.Errorf("%v", kinds)
		}
		for table, most := range map[string]int{
			"audit_entry": 1, "audit_person": 3, // the rows, who acted, in what words
			"delivery_fact": 1, "survey_delivery": 1, "outgoing_message": 2, // its list, and what reminders led to
		} {
			if reads[table] > most || reads[table] == 0 {
				s.Errorf("%s was read %d times for a page of %d rows: %v", table, reads[table], len(got.Past), reads)
			}
		}
	})
}

// One person: what is to come, what was withheld and by whom, what arrived, the link, the
// inbox. Each with its reason, newest first.
func TestAStoryTellsAllOfAPerson(t *testing.T) {
	schools(t, func(s *school) {
		early := func(days int) func(*automation.Candidate) {
			return func(c *automation.Candidate) { c.DaysBefore = days }
		}
		s.remind("sam", early(40)) // 15 March
		cancelled := s.remind("sam", early(30))
		s.must(s.reminders.Support().Cancel(s.Context(), tenant, cancelled, by))
		s.remind("sam", early(7))
		s.remind("sam", early(1))
		ended := s.remind("sam", early(0))
		_, err := s.reminders.Deactivate(s.Context(), tenant, "other", employee("sam"), "Gone")
		s.must(err)
		s.must(s.reminders.Support().Cancel(s.Context(), tenant, ended, by))
		s.at(time.Date(2026, 3, 15, 9, 0, 0, 0, time.UTC))
		s.clk.Add(time.Hour)
		s.tell("sam", "sam@example.com")
		s.drain()
		s.clk.Add(time.Hour)
		s.ask("sam")
		s.drain()
		s.noAddress["sam"] = true
		s.at(s.clk.Now().Add(49 * time.Hour)) // the link is sent once more
		s.at(due)
		s.clk.Add(time.Minute)

		got := s.story(support.About{Person: "sam"}, storage.Page{})
		want := []string{
			"Reminder Planned certificate, 1 day before 2026-04-24",
			"Reminder Withheld CancelledBySupport certificate, on 2026-04-24",
		}
		if diff := cmp.Diff(want, lines(got.Next)); diff != "" {
			s.Error("next: ", diff)
		}
		want = []string{
			"Reminder Withheld NoRecipients certificate, 7 days before 2026-04-24",
			"Reminder Withheld CancelledBySupport certificate, 30 days before 2026-04-24",
			"Link Sent survey 7, Visit",
			"Message Sent news",
			"Inbox Reached news",
			"Message Sent certificate, 40 days before 2026-04-24",
			"Reminder Sent certificate, 40 days before 2026-04-24",
		}
		if diff := cmp.Diff(want, lines(got.Past)); diff != "" {
			s.Error("past: ", diff)
		}
		if got.Name != "Samantha Jones" || got.After != "" {
			s.Errorf("%q %q", got.Name, got.After)
		}
		for _, e := range got.Past {
			if (e.Reason == "") != (e.ReasonBy == "") {
				s.Errorf("%s: reason %q by %q", e.What, e.Reason, e.ReasonBy)
			}
		}
		withheld := got.Past[0]
		if withheld.ToDo != "No recipient with an address was found. Add the address in your records, then send it again." {
			s.Errorf("%+v", withheld)
		}
		stopped := got.Past[1]
		if n := len(stopped.Steps); n == 0 || stopped.Steps[n-1].Actor != "kim" || stopped.Steps[n-1].Detail != "a call" {
			s.Errorf("%+v", stopped.Steps)
		}
		reminder := got.Past[6]
		if len(reminder.Messages) != 1 || reminder.Messages[0].Outcome != support.Sent || reminder.Messages[0].MessageID != got.Past[5].MessageID {
			s.Errorf("%+v", reminder.Messages)
		}
		if links := whats(got.Past[2].Steps); !has(links, "send by email:school: delivered") || !has(links, "reminder 1 by email:school: delivered") {
			s.Error(links)
		}
	})
}

// Whatever the size of a page, the pages together are the story.
func TestPagesOfAStoryTogetherAreTheStory(t *testing.T) {
	schools(t, func(s *school) {
		for i := range 4 {
			s.remind("sam", func(c *automation.Candidate) { c.DaysBefore = 50 - i })
			s.tell("sam", "sam@example.com")
			s.clk.Add(time.Hour)
			s.drain()
		}
		s.ask("sam")
		s.at(time.Date(2026, 3, 20, 0, 0, 0, 0, time.UTC))
		whole := lines(s.story(support.About{Person: "sam"}, storage.Page{Limit: 100}).Past)
		if len(whole) != 17 { // 4 reminders with their messages, 4 messages and inboxes, a link
			s.Fatal(len(whole), whole)
		}
		for _, limit := range []int{1, 2, 3, 7, 17} {
			var got []string
			for p, pages := (storage.Page{Limit: limit}), 0; ; pages++ {
				story := s.story(support.About{Person: "sam"}, p)
				if got = append(got, lines(story.Past)...); story.After == "" || pages > 30 {
					break
				}
				p.After = story.After
			}
			if diff := cmp.Diff(whole, got); diff != "" {
				s.Errorf("by %d: %s", limit, diff)
			}
		}
		for _, after := range []string{"x", "e30", "AAAA"} {
			if _, err := s.desk.Story(s.Context(), tenant, support.About{Person: "sam"}, storage.Page{After: after}); !errors.Is(err, storage.ErrPage) {
				s.Error(after, err)
			}
		}
	})
}

// A row is found by whatever is known of it, and by nobody else's tenant.
func TestARowIsFoundByWhateverIsKnownOfIt(t *testing.T) {
	schools(t, func(s *school) {
		key := s.remind("sam", nil)
		s.at(due)
		link := s.ask("kim")
		s.drain()
		message := s.story(support.About{Person: "sam"}, storage.Page{}).Past[0]
		for name, c := range map[string]struct {
			about support.About
			want  []string
		}{
			"by its key":             {support.About{Key: key}, []string{"Reminder Sent certificate, 7 days before 2026-04-24", "Message Sent certificate, 7 days before 2026-04-24"}},
			"by what it is about":    {support.About{Entity: employee("sam")}, []string{"Reminder Sent certificate, 7 days before 2026-04-24"}},
			"by a message's id":      {support.About{MessageID: message.MessageID}, []string{"Message Sent certificate, 7 days before 2026-04-24"}},
			"by the provider's id":   {support.About{ProviderID: message.ProviderID}, []string{"Message Sent certificate, 7 days before 2026-04-24"}},
			"by a link's public id":  {support.About{Key: link}, []string{"Link Sent survey 7, Visit"}},
			"by an unknown person":   {support.About{Person: "nobody"}, nil},
			"by nobody's address":    {support.About{Address: notify.Destination{Method: "email", Address: "sam@example.com"}}, nil},
			"another source's id":    {support.About{Entity: automation.Source{Type: "car", ID: "sam"}}, nil},
			"an entity of that name": {support.About{Entity: automation.Source{Type: "employee", ID: "kim"}}, nil},
		} {
			got := s.story(c.about, storage.Page{})
			if diff := cmp.Diff(c.want, lines(got.Past)); diff != "" {
				s.Errorf("%s: %s", name, diff)
			}
			other, err := s.desk.Story(s.Context(), "south", c.about, storage.Page{})
			if len(other.Past)+len(other.Next) > 0 || err != nil && !errors.Is(err, storage.ErrNotFound) {
				s.Errorf("%s: the south has %v, %v", name, lines(other.Past), err)
			}
		}
		for _, about := range []support.About{{}, {Key: key, Person: "sam"}, {Entity: automation.Source{Type: "car"}}, {Address: notify.Destination{Method: "sms"}}} {
			if _, err := s.desk.Story(s.Context(), tenant, about, storage.Page{}); err == nil {
				s.Errorf("%+v is not an error", about)
			}
		}
	})
}

// Search takes anything, and names only where it may.
func TestASearchTakesAnything(t *testing.T) {
	schools(t, func(s *school) {
		key := s.remind("sam", nil)
		s.at(due)
		link := s.ask("kim")
		for _, to := range []notify.OutgoingMessage{
			{Channel: "email:school", Address: "who@example.com"}, {Channel: "sms:school", Address: "+4915112345678"},
		} {
			to.Scope, to.PartitionKey, to.NotificationType = tenant, "once", "once"
			_, err := s.out.EnsureOutgoingMessage(s.Context(), nil, to)
			s.must(err)
		}
		message := s.story(support.About{Person: "sam"}, storage.Page{}).Past[0]
		person := support.About{Person: "sam"}
		for text, want := range map[string]support.About{
			"sam": person, " Samantha ": person, key: {Key: key}, link: {Key: link}, "kim": {Person: "kim"},
			message.MessageID: {MessageID: message.MessageID}, message.ProviderID: {MessageID: message.MessageID},
			"who@EXAMPLE.com":    {Address: notify.Destination{Method: "email", Address: "who@EXAMPLE.com"}},
			"0049 151/1234-5678": {Address: notify.Destination{Method: "sms", Address: "+49 151/1234-5678"}},
		} {
			hits, _, err := s.desk.Search(s.Context(), tenant, text, true)
			if err != nil || len(hits) != 1 || hits[0].About != want {
				s.Errorf("%s: %+v, %v", text, hits, err)
			}
			if hits, _, err := s.desk.Search(s.Context(), "south", text, false); err != nil || len(hits) != 0 {
				s.Errorf("the south finds %s: %+v, %v", text, hits, err)
			}
		}
		for _, text := range []string{"", "  ", "nobody", "Samantha", "@", "+", "%", "'; --", fmt.Sprintf("%0900d", 7)} {
			if hits, _, err := s.desk.Search(s.Context(), tenant, text, false); err != nil || len(hits) != 0 {
				s.Errorf("%q: %+v, %v", text, hits, err)
			}
		}
		for _, text := range []string{"a\x00b", "\xff", fmt.Sprintf("%01001d", 7)} {
			if _, _, err := s.desk.Search(s.Context(), tenant, text, false); err == nil {
				s.Errorf("%.20q is not an error", text)
			}
		}
	})
}

// A campaign is found by its GUID, on its page with how far it has come, and is in the list.
func TestACampaignTellsHowFarItHasCome(t *testing.T) {
	schools(t, func(s *school) {
		s.register(notify.Type{Name: "spring"})
		members := func(yield func(notify.Recipient, error) bool) {
			for i := range 9 {
				who := fmt.Sprint("member", i)
				if !yield(notify.Recipient{Ref: who, Address: address(who)}, nil) {
					return
				}
			}
		}
		payload, err := s.out.Campaigns().PutAudience(s.Context(), notify.AudienceOf(members), &notify.PayloadOptions{Channel: "email:school"})
		s.must(err)
		_, err = s.out.Campaigns().Start(s.Context(), notify.MessagingJob{Scope: tenant, Type: "spring", GUID: "spring-2026", Blob: payload.Blob, AudienceSize: payload.Recipients}, time.Time{})
		s.must(err)
		s.answers[address("member3")] = channel.Permanent("550", nil)
		s.drain()
		hits, _, err := s.desk.Search(s.Context(), tenant, "spring-2026", false)
		s.must(err)
		if len(hits) != 1 || hits[0].What != "a campaign: spring" {
			s.Fatalf("found %+v", hits)
		}
		story, err := s.desk.Story(s.Context(), tenant, hits[0].About, storage.Page{})
		s.must(err)
		p := story.Past[0].Campaign
		if len(story.Past) != 1 || story.Past[0].Outcome != support.Sent || p == nil || p.Recipients != 9 || p.Done != 9 || p.Messages[notify.StatusSentToProvider] != 8 || p.Messages[notify.StatusFailedFinal] != 1 {
			s.Errorf("%+v, %+v", story.Past, p)
		}
		if _, err := s.desk.Story(s.Context(), "south", hits[0].About, storage.Page{}); !errors.Is(err, storage.ErrNotFound) {
			s.Errorf("the south: %v", err)
		}
		all, _, err := s.desk.List(s.Context(), tenant, support.Campaigns, storage.Page{})
		if err != nil || len(all) != 1 || all[0].Key != "spring-2026" {
			s.Errorf("%+v, %v", all, err)
		}
	})
}
