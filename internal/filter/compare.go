package filter

import (
	"encoding/json"
	"math/big"
	"strings"

	"github.com/belfry-go/belfry/keys"
)

// equal reports whether two values are the same, by the table in the package
// comment.
func equal(a, b any) bool {
	if x, ok := a.(bool); ok {
		y, ok := b.(bool)
		return ok && x == y
	}
	n, ok := order(a, b)
	return ok && n == 0
}

// inOrder reports whether the comparison holds for two values.
func inOrder(op Op, a, b any) bool {
	n, ok := order(a, b)
	switch op {
	case More:
		return ok && n > 0
	case AtLeast:
		return ok && n >= 0
	case Less:
		return ok && n < 0
	case AtMost:
		return ok && n <= 0
	}
	return false
}

// order compares two texts or numbers: negative if a comes first. ok is false where
// they are in no order.
func order(a, b any) (n int, ok bool) {
	x, xNumber, ok := spelled(a)
	if !ok {
		return 0, false
	}
	y, yNumber, ok := spelled(b)
	if !ok {
		return 0, false
	}
	if xNumber || yNumber {
		return CompareNumbers(x, y)
	}
	return strings.Compare(x, y), true
}

// spelled is the spelling of a text or number.
func spelled(v any) (text string, number, ok bool) {
	switch v := v.(type) {
	case string:
		return v, false, true
	case json.Number:
		return string(v), true, true
	}
	return "", false, false
}

// CompareNumbers compares two decimals exactly: negative if a is less. ok is false
// if one of them is no number to [keys.Decimal].
func CompareNumbers(a, b string) (n int, ok bool) {
	x, err := keys.Decimal(a)
	if err != nil {
		return 0, false
	}
	y, err := keys.Decimal(b)
	if err != nil {
		return 0, false
	}
	return rational(x).Cmp(rational(y)), true
}

func rational(decimal string) *big.Rat {
	r, _ := new(big.Rat).SetString(decimal) // what keys.Decimal gives is one
	return r
}
