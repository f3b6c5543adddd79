package surveyhttp

import (
	"strings"
	"unicode"

	tag "golang.org/x/text/language"
	"golang.org/x/text/message"
	"golang.org/x/text/number"
)

// separators are the signs that a language writes in numbers.
type separators struct{ decimal, group rune }

func separatorsOf(locale string) separators {
	of, err := tag.Parse(locale)
	if err != nil {
		of = tag.English
	}
	out := separators{decimal: '.'}
	for _, r := range message.NewPrinter(of).Sprint(number.Decimal(1234567.5)) {
		if unicode.Is(unicode.Nd, r) {
			continue
		}
		if out.decimal = plain(r); out.group == 0 { // the last one is the decimal sign
			out.group = out.decimal
		}
	}
	if out.group == out.decimal {
		out.group = 0
	}
	return out
}

// spelled is a number of JSON as the language of a page writes it, without signs for
// thousands.
func spelled(text, locale string) string {
	return strings.Replace(text, ".", string(separatorsOf(locale).decimal), 1)
}

// read gives a number that a customer wrote, in the digits of any script, as JSON has it; false,
// and nothing that is a number: it could be either of two. What is not a number stays as it is.
func (s separators) read(text string) (_ string, only bool) {
	written := strings.Map(plain, strings.TrimFunc(text, func(r rune) bool { return plain(r) == ' ' || plain(r) < 0 }))
	point, comma := strings.Count(written, "."), strings.Count(written, ",")
	decimal := rune(0) // none of the signs
	switch last := rune(strings.LastIndexAny(written, ".,")); {
	case strings.ContainsRune(written, decimalSign):
		decimal = decimalSign
	case point > 0 && comma > 0:
		decimal = rune(written[last])
	case point+comma == 1:
		decimal = rune(written[last])
		if !grouped(written, decimal) || decimal == s.decimal {
			break
		}
		if decimal != s.group {
			return "?", false
		}
		decimal = 0
	}
	whole, fraction := written, ""
	if decimal != 0 {
		before, behind, _ := strings.Cut(written, string(decimal))
		whole, fraction = before, "."+behind
	}
	for _, group := range []rune{' ', '\'', '.', ','} {
		if group != decimal && grouped(whole, group) {
			whole = strings.ReplaceAll(whole, string(group), "")
			break
		}
	}
	if out := whole + fraction; strings.Trim(out, "0123456789+-.eE") == "" {
		return out, true
	}
	return text, true
}

// isOne says whether a number that a customer wrote can be only one.
func isOne(text, locale string) bool {
	_, ok := separatorsOf(locale).read(text)
	return ok
}

// grouped says whether a sign stands between thousands: groups of three digits, of two before
// the last as in India, and one to three before them.
func grouped(text string, sign rune) bool {
	parts := strings.Split(strings.TrimLeft(text, "+-"), string(sign))
	for i, part := range parts {
		least, most := 2, 3
		switch i {
		case 0:
			least = 1
		case len(parts) - 1:
			least = 3
		}
		if len(part) < least || len(part) > most || strings.Trim(part, "0123456789") != "" {
			return false
		}
	}
	return len(parts) > 1 && parts[0][0] != '0'
}

// decimalSign is the one that is nothing else.
const decimalSign = '٫'

// plain is a sign of a number as ASCII has it: one for those that look alike. What cannot be
// seen is dropped.
func plain(r rune) rune {
	switch {
	case unicode.Is(unicode.Nd, r):
		return '0' + digit(r)
	case unicode.IsSpace(r) || unicode.Is(unicode.Zs, r):
		return ' '
	case unicode.Is(unicode.Cf, r):
		return -1
	}
	switch r {
	case '−', '‐', '‑', '‒', '–', '﹣', '－':
		return '-'
	case '＋':
		return '+'
	case '．':
		return '.'
	case '，', '،', '、':
		return ','
	case '’', 'ʼ', '＇', '٬':
		return '\''
	}
	return r
}

// digit is the value of a decimal digit: they stand in tens, zero first.
func digit(r rune) rune {
	for _, in := range unicode.Nd.R16 {
		if r >= rune(in.Lo) && r <= rune(in.Hi) {
			return (r - rune(in.Lo)) % 10
		}
	}
	for _, in := range unicode.Nd.R32 {
		if r >= rune(in.Lo) && r <= rune(in.Hi) {
			return (r - rune(in.Lo)) % 10
		}
	}
	return 0
}
