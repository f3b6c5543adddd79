package survey

import (
	"fmt"
	"math/big"
	"strings"

	"github.com/belfry-go/belfry/keys"
)

// The bounds of a rating whose question states none.
var lowestRating, highestRating = Number("1"), Number("5")

func (q *Question) readNumber(text string) (any, *AnswerFault) {
	canonical, err := keys.Decimal(strings.TrimSpace(text))
	if err != nil {
		return nil, q.fault(FaultType, "is no decimal number")
	}
	lowest, highest := q.Min, q.Max
	if q.Type == RatingQuestion {
		if strings.Contains(canonical, ".") {
			return nil, q.fault(FaultType, "is no whole number")
		}
		if lowest == nil {
			lowest = &lowestRating
		}
		if highest == nil {
			highest = &highestRating
		}
	}
	if fault := q.within(Number(canonical), lowest, highest, ""); fault != nil {
		return nil, fault
	}
	return Number(canonical), nil
}

// within compares decimals, never floats. A bound that is nil does not bind.
func (q *Question) within(n Number, lowest, highest *Number, of string) *AnswerFault {
	switch {
	case lowest != nil && decimal(n).Cmp(decimal(*lowest)) < 0:
		return q.fault(FaultMin, fmt.Sprintf("is less than %s%s", *lowest, of))
	case highest != nil && decimal(n).Cmp(decimal(*highest)) > 0:
		return q.fault(FaultMax, fmt.Sprintf("is more than %s%s", *highest, of))
	}
	return nil
}

// decimal reads a number of a published definition, or one in its canonical
// spelling: both are short and without a large exponent. Anything else is zero.
func decimal(n Number) *big.Rat {
	canonical, err := keys.Decimal(n.String())
	if err != nil {
		return new(big.Rat)
	}
	r, _ := new(big.Rat).SetString(canonical)
	return r
}
