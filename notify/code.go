package notify

import "strings"

// maxCode bounds what a channel may have us store as a code or an id.
const maxCode = 200

// code makes a text from outside storable: short, valid and without control
// characters, so that no provider's answer can keep a row from being settled.
func code(s string) string {
	clean := strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return -1
		}
		return r
	}, strings.ToValidUTF8(s, ""))
	if len(clean) > maxCode {
		clean = strings.ToValidUTF8(clean[:maxCode], "")
	}
	return clean
}
