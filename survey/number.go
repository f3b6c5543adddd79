package survey

import (
	"encoding/json"
	"strconv"
	"strings"

	"github.com/belfry-go/belfry/keys"
)

// Number is a decimal number as it is written, never a float. In a definition it is
// one that [keys.Decimal] takes.
type Number = json.Number

// wholeNumber is the value of a number without a fraction, of at most nine digits.
func wholeNumber(n Number) (value int64, ok bool) {
	canonical, err := keys.Decimal(n.String())
	if err != nil || len(strings.TrimPrefix(canonical, "-")) > 9 {
		return 0, false
	}
	value, err = strconv.ParseInt(canonical, 10, 64)
	return value, err == nil
}
