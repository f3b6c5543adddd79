package automation

import (
	"fmt"
	"math/big"
)

// Comparison says how a reading is compared with the value of a [Threshold].
// Empty means AtLeast.
type Comparison string

// The comparisons. They are exact: decimals are never rounded.
const (
	AtLeast  Comparison = "AtLeast"  // the reading is the value or more
	MoreThan Comparison = "MoreThan" // the reading is more than the value
	AtMost   Comparison = "AtMost"   // the reading is the value or less
	LessThan Comparison = "LessThan" // the reading is less than the value
)

// comparisons has what is true of the sign of reading minus value, and how
// people say it.
var comparisons = map[Comparison]struct {
	holds func(sign int) bool
	words string
}{
	AtLeast:  {func(sign int) bool { return sign >= 0 }, "at least"},
	MoreThan: {func(sign int) bool { return sign > 0 }, "more than"},
	AtMost:   {func(sign int) bool { return sign <= 0 }, "at most"},
	LessThan: {func(sign int) bool { return sign < 0 }, "less than"},
}

func (c Comparison) check() error {
	if _, ok := comparisons[c]; !ok {
		return fmt.Errorf("%.40q is none of AtLeast, MoreThan, AtMost, LessThan", c)
	}
	return nil
}

// met compares two numbers in the spelling of keys.Decimal.
func (c Comparison) met(reading, value string) bool {
	return comparisons[c].holds(rational(reading).Cmp(rational(value)))
}

func rational(decimal string) *big.Rat {
	r, ok := new(big.Rat).SetString(decimal)
	if !ok {
		panic("automation: " + decimal + " is not what keys.Decimal gives")
	}
	return r
}
