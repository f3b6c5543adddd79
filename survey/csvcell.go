package survey

import (
	"encoding/json"
	"strings"
	"unicode/utf8"
)

// formulaStarts begin what spreadsheets run, those of East Asian keyboards and
// what they cut off before it included.
const formulaStarts = "=+-@\t\r\n＝＋－＠"

// defused is a text that no spreadsheet takes for a formula.
func defused(text string) string {
	first, _ := utf8.DecodeRuneInString(text)
	if text != "" && strings.ContainsRune(formulaStarts, first) {
		return "'" + text
	}
	return text
}

// cellOf writes an answer into one cell; none is an empty one.
func cellOf(answer json.RawMessage) string {
	if len(answer) == 0 {
		return ""
	}
	var text string
	var list []string
	switch answer[0] {
	case '"':
		_ = json.Unmarshal(answer, &text) // accept wrote it
		return defused(text)
	case '[':
		_ = json.Unmarshal(answer, &list)
		return defused(strings.Join(list, "; "))
	}
	return string(answer) // a number
}
