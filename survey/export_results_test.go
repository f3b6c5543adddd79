package survey

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/belfry-go/belfry/storage"
)

// CountForBenchmark counts so many responses to four questions, over so many days and
// so many values of candidate.dealer, by the pass's own code.
func CountForBenchmark(b *testing.B, store storage.Store, surveyID int64, responses, days, dealers int) {
	b.Helper()
	random := rand.New(rand.NewPCG(24, 24))
	first := time.Date(2026, 5, 14, 0, 0, 0, 0, time.UTC)
	sums := sums{}
	for range responses {
		on := first.AddDate(0, 0, random.IntN(days))
		f := &fact{Under: map[string]string{
			ByTrigger: []string{"visit", "sale"}[random.IntN(2)], ByLocale: []string{"en", "ar", "ku"}[random.IntN(3)],
			"candidate.dealer": fmt.Sprintf("dealer %02d", random.IntN(dealers)),
		}, Days: map[string]*counted{}}
		f.on(on, &counted{Asked: 1, Answered: 1, Responses: 1, Questions: map[string]*given{
			"nps:rating:0:10":  {N: 1, Values: map[string]int{fmt.Sprint(random.IntN(11)): 1}},
			"stars:rating:1:5": {N: 1, Values: map[string]int{fmt.Sprint(1 + random.IntN(5)): 1}},
			"again:yesNo":      {N: 1, Values: map[string]int{[]string{"yes", "no"}[random.IntN(2)]: 1}},
			"more:longText":    {N: 1},
		}})
		sums.add(f)
	}
	for len(sums) > 0 { // in transactions of a bearable size
		some := sums.take(2000)
		err := store.InTx(context.Background(), func(tx storage.Tx) error {
			return some.store(b.Context(), tx, surveyRef{"", surveyID})
		})
		if err != nil {
			b.Fatal(err)
		}
	}
}

// take takes so many sums away.
func (s sums) take(n int) sums {
	out := sums{}
	for p, c := range s {
		if len(out) == n {
			break
		}
		out[p] = c
		delete(s, p)
	}
	return out
}
