package notify_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/benbjohnson/clock"

	"github.com/belfry-go/belfry/internal/storetest"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/notify/gate"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/memory"
)

// statementsOf says how many statements it takes to send n messages as one group.
func statementsOf(t *testing.T, n int, options func(storage.Store) *notify.Options) int {
	clk := clock.NewMock()
	clk.Set(storetest.Start)
	store, calls := storetest.Counting(memory.New(&memory.Options{Clock: clk}))
	o := options(store)
	o.Concurrency = 200
	h := newGated(t, store, clk, o)
	poll := h.distributor()
	h.ensure(letter("first", "somebody")) // what is done once is done
	poll()
	for i := range n {
		h.ensure(letter(fmt.Sprint(i), fmt.Sprint("r", i)))
	}
	calls.Take()
	if got := poll(); got != n {
		t.Fatalf("claimed %d", got)
	}
	return calls.Count()
}

func TestTheStatementsOfAGroupDoNotGrowWithItsMessages(t *testing.T) {
	t.Parallel()
	gates := with(gate.Options{
		Guard: &gate.Guard{Allow: []string{"@example.com"}}, Caps: []gate.Cap{{Limit: 2, Per: time.Hour}},
		Window: &gate.Window{From: "07:00", To: "20:00"}, Rates: []gate.Rate{{Channel: channelKey, Limit: 1000, Per: time.Second}},
	})
	none := func(storage.Store) *notify.Options { return &notify.Options{} }
	for name, c := range map[string]struct {
		options func(storage.Store) *notify.Options
		most    int
	}{
		// What is paused, two claims until there are no more, suppression, preferences,
		// call-started write, settle.
		"no gates": {none, 7},
		// And pauses; one to read and two to write the caps; two to read
		// and three to write the rate.
		"all gates": {gates, 7 + 1 + 3 + 5},
	} {
		few, many := statementsOf(t, 2, c.options), statementsOf(t, 150, c.options)
		if few != many || many > c.most {
			t.Errorf("%s: %d statements for 2 messages, %d for 150, at most %d", name, few, many, c.most)
		}
	}
}
