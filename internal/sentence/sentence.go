// Package sentence makes sentences of parts of them.
package sentence

import "strings"

// Capital is a text with a capital at its beginning, which is ASCII.
func Capital(text string) string {
	if text == "" {
		return ""
	}
	return strings.ToUpper(text[:1]) + text[1:]
}
