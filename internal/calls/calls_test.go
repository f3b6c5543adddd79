package calls

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/belfry-go/belfry/internal/work"
)

func none(int) []Bound { return nil }

// An item waits for a slot of each of its bounds, and the others do not wait for it.
func TestAnItemHasASlotOfEachOfItsBounds(t *testing.T) {
	t.Parallel()
	var s Slots
	bounds := func(n int) []Bound { return []Bound{{Key: "all", Most: 3}, {Key: n % 2, Most: 2}} }
	taken, left := takeSome(t.Context(), &s, []int{0, 2, 4, 1, 3}, bounds)
	if len(taken) != 3 || len(left) != 2 || left[0] != 4 || left[1] != 3 {
		t.Fatalf("took %v, left %v", taken, left)
	}
	if got, _, _ := takeNow(&s, []int{6}, none, nil); len(got) != 1 {
		t.Error("what is not bounded waits")
	}
	s.Give(bounds(0))
	if taken, left = takeSome(t.Context(), &s, left, bounds); len(taken) != 1 || taken[0] != 4 || len(left) != 1 {
		t.Errorf("took %v, left %v", taken, left)
	}
}

// What is weighed fits in all, and what is too heavy goes alone.
func TestAWeightTakesMoreThanOne(t *testing.T) {
	t.Parallel()
	var s Slots
	bounds := func(weight int) []Bound { return []Bound{{Key: "bytes", Most: 10, Weight: weight}} }
	taken, left, _ := takeNow(&s, []int{4, 40, 6, 1}, bounds, nil)
	if len(taken) != 2 || taken[1] != 6 || len(left) != 2 {
		t.Fatalf("took %v, left %v", taken, left)
	}
	s.Give(bounds(4))
	s.Give(bounds(6))
	if taken, left, _ = takeNow(&s, left, bounds, nil); len(taken) != 1 || taken[0] != 40 {
		t.Errorf("took %v, left %v", taken, left)
	}
}

// Who waits is woken by a slot that is given back, or by the end of its context.
func TestWhoWaitsForASlotIsWoken(t *testing.T) {
	t.Parallel()
	var s Slots
	one := func(int) []Bound { return []Bound{{Key: "one"}} } // none is one
	if !s.Take(one(0)) || s.Take(one(0)) {
		t.Fatal("not one slot")
	}
	got := make(chan int)
	go func() {
		taken, _ := takeSome(t.Context(), &s, []int{7}, one)
		got <- taken[0]
	}()
	s.Give(one(0))
	if n := <-got; n != 7 {
		t.Errorf("got %d", n)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if taken, left := takeSome(ended, &s, []int{8}, one); len(taken) != 0 || len(left) != 1 {
		t.Errorf("took %v, left %v", taken, left)
	}
}

// A call of several rows has one slot, until all of their results are stored.
func TestTheSlotOfABatchIsFreeWithItsLastResult(t *testing.T) {
	t.Parallel()
	stored, store := context.WithCancel(t.Context())
	var slots Slots
	one := func(int) []Bound { return []Bound{{Key: "one", Most: 1}} }
	var landed []int
	s := Sender[int, int]{
		Slots: &slots, Bounds: one, Land: func(n int) { landed = append(landed, n) },
		Item: func(n int) work.Item[int] {
			if n == 1 {
				return work.Item[int]{} // stored when it lands
			}
			return work.Item[int]{Ctx: stored, Flush: func() {}}
		},
	}
	if !slots.Take(s.bounds([]int{1, 2})) {
		t.Fatal("there is no slot")
	}
	s.give([]int{1, 2})
	if len(landed) != 2 || slots.Take(one(0)) {
		t.Errorf("landed %v, and the slot is free before the second is stored", landed)
	}
	store()
	if taken, _ := takeSome(t.Context(), &slots, []int{3}, one); len(taken) != 1 {
		t.Error("the slot was not given back")
	}
}

// A call about several ends when nobody waits for it any more.
func TestACallForSeveralEndsWithTheLast(t *testing.T) {
	t.Parallel()
	first, endFirst := context.WithCancel(t.Context())
	second, endSecond := context.WithCancel(t.Context())
	ctx, cancel := Together([]context.Context{first, second})
	defer cancel()
	endFirst()
	<-first.Done()
	if ctx.Err() != nil {
		t.Error("it ended with the first")
	}
	endSecond()
	<-ctx.Done()
}

func TestAnswersAreOneForEachQuestion(t *testing.T) {
	t.Parallel()
	known := func(a string) bool { return a == "yes" }
	for want, answer := range map[string]func([]int) ([]string, error){
		"":                               func([]int) ([]string, error) { return []string{"yes", "yes"}, nil },
		"1 answers to 2 questions":       func([]int) ([]string, error) { return []string{"yes"}, nil },
		"answer 2 is not a valid answer": func([]int) ([]string, error) { return []string{"yes", "perhaps"}, nil },
		"panic: string":                  func([]int) ([]string, error) { panic("personal") },
		"a failure of the host":          func([]int) ([]string, error) { return nil, errors.New("a failure of the host") },
	} {
		answers, err := Answers([]int{1, 2}, answer, known)
		if want == "" && (err != nil || len(answers) != 2) || want != "" && (err == nil || err.Error() != want) {
			t.Errorf("%q: %v, %v", want, answers, err)
		}
	}
}

// A call ends with its time, and the log says where a host panicked and not of what.
func TestAHostsCodeIsCalledWithinItsTime(t *testing.T) {
	t.Parallel()
	var text strings.Builder
	log := slog.New(slog.NewTextHandler(&text, nil))
	err := Do(t.Context(), time.Millisecond, log, "it panicked", slog.String("where", "here"), func(ctx context.Context) error {
		<-ctx.Done()
		panic("personal")
	})
	if err == nil || !strings.Contains(text.String(), "belfry: it panicked") || strings.Contains(text.String(), "personal") {
		t.Errorf("%v: %s", err, text.String())
	}
}
