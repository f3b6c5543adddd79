// Package storable checks outside data before it is stored. It makes texts that every
// database accepts, and collects all faults of a value, each with its field.
package storable

import (
	"encoding/hex"
	"strings"
	"unicode/utf8"

	"github.com/belfry-go/belfry/keys"
)

// MaxCode bounds a text from [Code], in bytes.
const MaxCode = 200

// Code makes a code or an id from outside storable: short, valid and without
// control characters, so that no provider's answer keeps a row from being settled.
func Code(text string) string {
	clean := strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return -1
		}
		return r
	}, strings.ToValidUTF8(text, ""))
	if len(clean) > MaxCode {
		clean = strings.ToValidUTF8(clean[:MaxCode], "")
	}
	return clean
}

// Text reports whether a column can hold a text.
func Text(text string) bool { return utf8.ValidString(text) && !strings.Contains(text, "\x00") }

// Detail is a text of other programs, such as an error, that every database takes: at most
// 500 bytes of it, in whole characters.
func Detail(text string) string {
	text = strings.ToValidUTF8(strings.ReplaceAll(text, "\x00", ""), "?")
	if len(text) > maxDetail {
		text = strings.ToValidUTF8(text[:maxDetail], "")
	}
	return text
}

const maxDetail = 500

// KeyPart is text as a part of a key; one that no key can hold is hashed, so that
// a strange name does not stop those beside it.
func KeyPart(text string) string {
	if _, err := keys.Join(text); err != nil || len(text) > keys.MaxPartLen {
		sum := keys.Sum("belfry-key-part-1", text)
		return "sum " + hex.EncodeToString(sum[:])
	}
	return text
}
