package survey

import (
	"fmt"
	"strings"

	"github.com/belfry-go/belfry/internal/filter"
	"github.com/belfry-go/belfry/keys"
)

func (q *Question) readNumber(text string) (any, *AnswerFault) {
	canonical, err := keys.Decimal(strings.TrimSpace(text))
	if err != nil {
		return nil, q.fault(FaultType, "is no decimal number")
	}
	if q.Type == RatingQuestion && strings.Contains(canonical, ".") {
		return nil, q.fault(FaultType, "is no whole number")
	}
	if fault := q.within(canonical, ""); fault != nil {
		return nil, fault
	}
	return Number(canonical), nil
}

// within compares decimals, never floats. A bound that is not there does not bind.
func (q *Question) within(number, of string) *AnswerFault {
	least, most := q.limits()
	if n, ok := filter.CompareNumbers(number, least); ok && n < 0 {
		return q.fault(FaultMin, fmt.Sprintf("is less than %s%s", least, of))
	}
	if n, ok := filter.CompareNumbers(number, most); ok && n > 0 {
		return q.fault(FaultMax, fmt.Sprintf("is more than %s%s", most, of))
	}
	return nil
}
