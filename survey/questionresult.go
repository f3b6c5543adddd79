package survey

import (
	"math/big"
	"slices"
	"strconv"

	"github.com/belfry-go/belfry/survey/form"
)

// QuestionResult is what was answered to one question. A question whose scale has changed
// is there once for each.
type QuestionResult struct {
	ID   string
	Type form.QuestionType
	// Least and Most are the ends of a rating's scale, LowIsBetter says that the low one is
	// the good one, and Metric is what it counts as: as the latest version has it.
	Least, Most int
	LowIsBetter bool
	Metric      form.Metric
	N           int // answers
	// Few says that fewer than MinResponses have answered: nothing is said but N.
	Few bool
	// Counts are the answers of a rating, a choice, several choices (which add up to
	// more than N) and yes or no, and the options of a ranking, the best one first. Steps of a rating are those that were given, in their order;
	// options are all that the latest version offers, in its order, and then older ones.
	Counts []ValueCount

	sum string
}

// ValueCount is how often an answer was given.
type ValueCount struct {
	Value string
	N     int // of a ranking: how often it was first
	// Place is the mean place of an option of a ranking, from 1; zero: it is not of one.
	Place float64
}

// offer puts the counts of options in the order in which a question offers them, those too
// that were not chosen.
func (q *QuestionResult) offer(now *form.Question) {
	var offered []string
	for _, o := range now.Options {
		offered = append(offered, o.Value)
	}
	if now.Type == form.YesNoQuestion {
		offered = []string{"yes", "no"}
	}
	if len(offered) == 0 || now.Type == form.RankingQuestion {
		return
	}
	given := q.Counts
	q.Counts = nil
	for _, value := range offered {
		i := slices.IndexFunc(given, func(c ValueCount) bool { return c.Value == value })
		if i < 0 {
			q.Counts = append(q.Counts, ValueCount{Value: value})
			continue
		}
		q.Counts = append(q.Counts, given[i])
		given = slices.Delete(given, i, i+1)
	}
	q.Counts = append(q.Counts, given...)
}

// Mean is that of a rating or of numbers; false: there is none.
func (q QuestionResult) Mean() (float64, bool) {
	sum := rational(q.sum)
	switch {
	case q.N == 0 || q.Few || !q.Type.Rates() && q.Type != form.NumberQuestion:
		return 0, false
	case q.Type.Rates():
		for _, c := range q.Counts {
			sum.Add(sum, new(big.Rat).Mul(rational(c.Value), big.NewRat(int64(c.N), 1)))
		}
	}
	mean, _ := sum.Quo(sum, big.NewRat(int64(q.N), 1)).Float64()
	return mean, true
}

// NPS is the net promoter score where that is the Metric, from -100 to 100: the percentage
// of 9 and 10 less that of 0 to 6; false: there is none.
func (q QuestionResult) NPS() (float64, bool) {
	if q.N == 0 || q.Few || q.Metric != form.MetricNPS {
		return 0, false
	}
	net := q.between(9, 10) - q.between(0, 6)
	return 100 * float64(net) / float64(q.N), true
}

// CSAT is the share of the two best steps where that is the Metric, in percent; false: there
// is none.
func (q QuestionResult) CSAT() (float64, bool) {
	if q.N == 0 || q.Few || q.Metric != form.MetricCSAT {
		return 0, false
	}
	best := q.between(q.Most-1, q.Most)
	if q.LowIsBetter {
		best = q.between(q.Least, q.Least+1)
	}
	return 100 * float64(best) / float64(q.N), true
}

// CES is the customer effort score where that is the Metric: the mean; false: there is none.
func (q QuestionResult) CES() (float64, bool) {
	if q.Metric != form.MetricCES {
		return 0, false
	}
	return q.Mean()
}

// between counts the ratings from least to most.
func (q QuestionResult) between(least, most int) (n int) {
	for _, c := range q.Counts {
		if step, err := strconv.Atoi(c.Value); err == nil && step >= least && step <= most {
			n += c.N
		}
	}
	return n
}
