package notify_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/benbjohnson/clock"

	"github.com/belfry-go/belfry/internal/storetest"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/reasons"
	"github.com/belfry-go/belfry/storage"
)

// A filter by stage finds what has it, and nothing else: every status, on hold or not, with
// each sort of reason.
func TestAStageIsWhatItsFilterFinds(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, store storage.Store, clk *clock.Mock) {
		n := notify.New(store, nil)
		of := notify.Made{From: clk.Now(), Until: clk.Now().Add(time.Hour)}
		var rows []notify.OutgoingMessage
		for _, status := range []string{"Created", "RetryReady", "Sending", "OutcomeUnknown", "SentToProvider", "Delivered", "Opened", "FailedFinal", "Skipped", "Expired", "Cancelled"} {
			for _, held := range []bool{false, true} {
				for _, reason := range []string{"", "550", reasons.Suppressed, reasons.BadAddress, "A", "z"} {
					m := notify.OutgoingMessage{Scope: "tenant", Channel: "email:test", PartitionKey: fmt.Sprint(status, held, reason), Address: "sam@example.com"}
					m.Status, m.IsOnSupportHold, m.CreatedOn = status, held, clk.Now()
					m.ReasonCode = reason
					rows = append(rows, m)
				}
			}
		}
		if err := notify.PutMessages(t.Context(), store, rows); err != nil {
			t.Fatal(err)
		}
		all, _, err := n.Support().MessagesMade(t.Context(), "tenant", of, storage.Page{Limit: 1000})
		if err != nil || len(all) != len(rows) {
			t.Fatal(len(all), err)
		}
		counts, _, err := n.Support().CountMade(t.Context(), "tenant", of)
		if err != nil {
			t.Fatal(err)
		}
		for _, stage := range notify.Stages() {
			var want, got []string
			for _, m := range all {
				if m.Stage() == stage || stage == notify.StageMissing && m.Stage().Missing() {
					want = append(want, m.PartitionKey)
				}
			}
			of.Stage = stage
			found, _, err := n.Support().MessagesMade(t.Context(), "tenant", of, storage.Page{Limit: 1000})
			for _, m := range found {
				got = append(got, m.PartitionKey)
			}
			if err != nil || !slices.Equal(want, got) || len(want) == 0 {
				t.Errorf("%s: %v\nfound %q\nnot   %q", stage, err, got, want)
			}
			counted := 0
			for _, c := range counts {
				if c.Stage == stage {
					counted += c.N
				}
			}
			if stage != notify.StageMissing && counted != len(want) {
				t.Errorf("%s: %d counted, not %d", stage, counted, len(want))
			}
		}
	})
}

// The list of a span of time leaves out what was made before and after, asks for few rows
// among many, and says what it cannot mean.
func TestMessagesOfASpanAreFoundById(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, store storage.Store, clk *clock.Mock) {
		spy := &storetest.Spy{Store: store}
		n := notify.New(spy, nil)
		begin := clk.Now()
		var rows []notify.OutgoingMessage
		for i := range 3000 {
			m := notify.OutgoingMessage{Scope: storage.Scope([]string{"tenant", "another"}[i%2]), Channel: "email:test", PartitionKey: fmt.Sprintf("%05d", i), Address: "sam@example.com"}
			m.Status, m.CreatedOn = "Delivered", begin.Add(time.Duration(i)*time.Minute)
			rows = append(rows, m)
		}
		if err := notify.PutMessages(t.Context(), store, rows); err != nil {
			t.Fatal(err)
		}
		for _, span := range []struct{ from, until, want int }{{0, 3000, 1500}, {0, 1, 1}, {1, 2, 0}, {1440, 2880, 720}, {2999, 3000, 0}, {2998, 2999, 1}, {-500, 0, 0}, {3000, 9000, 0}} {
			reads := 0
			spy.SetHook(func(c storetest.Call) error {
				if c.Table == "outgoing_message" {
					reads++
				}
				return nil
			})
			of := notify.Made{From: begin.Add(time.Duration(span.from) * time.Minute), Until: begin.Add(time.Duration(span.until) * time.Minute)}
			counts, more, err := n.Support().CountMade(t.Context(), "tenant", of)
			found := 0
			for _, c := range counts {
				found += c.N
			}
			if err != nil || more || found != span.want {
				t.Errorf("%+v: %d, %v, %v", span, found, more, err)
			}
			if reads > 40 {
				t.Errorf("%+v: %d reads", span, reads)
			}
		}
		for name, of := range map[string]notify.Made{
			"no From": {Until: begin}, "no Until": {From: begin}, "another stage": {From: begin, Until: begin, Stage: "Lost"},
		} {
			if _, _, err := n.Support().MessagesMade(t.Context(), "tenant", of, storage.Page{}); err == nil {
				t.Error(name)
			}
			if _, _, err := n.Support().CountMade(t.Context(), "tenant", of); err == nil {
				t.Error(name)
			}
		}
	})
}

// Processes have clocks of their own, so that ids do not quite ascend with time: what was
// made in a span is found all the same.
func TestMessagesOfProcessesWithOtherClocksAreFound(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, store storage.Store, clk *clock.Mock) {
		n, begin := notify.New(store, nil).Support(), clk.Now()
		var rows []notify.OutgoingMessage
		for i := range 300 {
			m := notify.OutgoingMessage{Scope: "tenant", Channel: "email:test", PartitionKey: fmt.Sprintf("%05d", i), Address: "sam@example.com"}
			m.Status, m.CreatedOn = "Delivered", begin.Add(time.Duration(i)*time.Minute+time.Duration(i%3)*2*time.Minute)
			rows = append(rows, m)
		}
		if err := notify.PutMessages(t.Context(), store, rows); err != nil {
			t.Fatal(err)
		}
		for from := range 290 {
			of := notify.Made{From: begin.Add(time.Duration(from) * time.Minute), Until: begin.Add(time.Duration(from+5) * time.Minute)}
			want := 0
			for _, m := range rows {
				if !m.CreatedOn.Before(of.From) && m.CreatedOn.Before(of.Until) {
					want++
				}
			}
			if found, _, err := n.MessagesMade(t.Context(), "tenant", of, storage.Page{}); err != nil || len(found) != want {
				t.Fatalf("from minute %d: %d, want %d: %v", from, len(found), want, err)
			}
		}
	})
}

// A message is listed and counted by the channel that it went through last, which is what
// it shows: that of a fail-over, or else the one that it asks for.
func TestAMessageIsFoundByTheChannelThatItWentThrough(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, store storage.Store, clk *clock.Mock) {
		n := notify.New(store, nil)
		of := notify.Made{From: clk.Now(), Until: clk.Now().Add(time.Hour)}
		var rows []notify.OutgoingMessage
		for via, many := range map[string]int{"": 1, "email:first": 2, "email:second": 4} {
			for i := range many {
				m := notify.OutgoingMessage{Scope: "tenant", Channel: "email:first", PartitionKey: fmt.Sprint(via, i), Address: "sam@example.com", Status: "Created", CreatedOn: clk.Now()}
				m.Via = via
				rows = append(rows, m)
			}
		}
		if err := notify.PutMessages(t.Context(), store, rows); err != nil {
			t.Fatal(err)
		}
		counts, _, err := n.Support().CountMade(t.Context(), "tenant", of)
		want := []notify.StageCount{{Channel: "email:first", Stage: notify.StageWaiting, N: 3}, {Channel: "email:second", Stage: notify.StageWaiting, N: 4}}
		if err != nil || !slices.Equal(counts, want) {
			t.Errorf("%v %v", err, counts)
		}
		for _, c := range want {
			of.Channel = c.Channel
			if found, _, err := n.Support().MessagesMade(t.Context(), "tenant", of, storage.Page{}); err != nil || len(found) != c.N {
				t.Errorf("%s: %d, %v", c.Channel, len(found), err)
			}
		}
	})
}
