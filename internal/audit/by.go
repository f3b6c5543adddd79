package audit

import (
	"errors"
	"fmt"
	"unicode/utf8"
)

// By says who acts and why. Both are required, in at most 200 and 1000 bytes of
// valid UTF-8.
type By struct {
	Actor  string // a person or program that can be found again
	Reason string // for whoever asks later
}

// Check refuses a By from which nobody would learn anything.
func (b By) Check() error {
	return errors.Join(check("actor", b.Actor, 200), check("reason", b.Reason, 1000))
}

func check(field, text string, most int) error {
	switch {
	case text == "":
		return fmt.Errorf("audit: no %s is given", field)
	case len(text) > most:
		return fmt.Errorf("audit: the %s has %d bytes, more than %d", field, len(text), most)
	case !utf8.ValidString(text):
		return fmt.Errorf("audit: the %s is not valid UTF-8", field)
	}
	return nil
}
