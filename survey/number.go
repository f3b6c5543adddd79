package survey

import "encoding/json"

// Number is a decimal number as it is written, never a float.
type Number = json.Number
