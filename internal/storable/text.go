package storable

import (
	"strings"
	"unicode/utf8"
)

// Text reports whether a column can hold a text; none holds storage.AnyScope.
func Text(text string) bool { return utf8.ValidString(text) && !strings.Contains(text, "\x00") }
