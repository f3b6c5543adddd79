// Package spreadsheet makes texts safe for programs that open CSV files.
package spreadsheet

import (
	"strings"
	"unicode/utf8"
)

// Mark begins a file, by which spreadsheets know UTF-8.
const Mark = "\ufeff"

// formulaStarts begin what spreadsheets run, those of East Asian keyboards and
// what they cut off before it included.
const formulaStarts = "=+-@\t\r\n＝＋－＠"

// Defused is a text that no spreadsheet takes for a formula.
func Defused(text string) string {
	first, _ := utf8.DecodeRuneInString(text)
	if text != "" && strings.ContainsRune(formulaStarts, first) {
		return "'" + text
	}
	return text
}
