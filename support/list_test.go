package support_test

import (
	"slices"
	"testing"
	"time"

	"github.com/belfry-go/belfry/notify/channel"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/support"
)

// The list of reminders says of each what its person's page says: what became of its
// messages, and not that they have not gone out yet.
func TestTheListOfRemindersHasTheStatesOfTheirMessages(t *testing.T) {
	schools(t, func(s *school) {
		s.answers["eve@example.com"] = channel.Permanent("550", nil)
		s.noAddress["ben"] = true
		want := map[string]support.State{"ada": support.StateSent, "ben": support.StateSkipped, "eve": support.StateFailed}
		for who := range want {
			s.remind(who, nil)
		}
		s.at(due.Add(time.Minute))
		all, _, err := s.desk.List(s.Context(), tenant, support.Reminders, storage.Page{})
		s.must(err)
		got := map[string]support.State{}
		for _, e := range all {
			got[e.Person] = e.State()
			past := s.story(support.About{Person: e.Person}, storage.Page{}).Past
			i := slices.IndexFunc(past, func(p support.Entry) bool { return p.Key == e.Key })
			if i < 0 || past[i].State() != e.State() || past[i].Because() != e.Because() {
				s.Errorf("%s: the list has %s (%s), the story %v", e.Person, e.State(), e.Because(), lines(past))
			}
		}
		for who, state := range want {
			if got[who] != state {
				s.Errorf("%s: %q, want %q", who, got[who], state)
			}
		}
	})
}
