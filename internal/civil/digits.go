package civil

// hasForm reports whether s has a digit wherever form has one, and otherwise
// the same characters. The parsers use it because package time is lenient: it
// reads 9:00 for 15:04 and takes fractions of a second that no layout asks for.
func hasForm(s, form string) bool {
	if len(s) != len(form) {
		return false
	}
	for i := range len(s) {
		if isDigit(form[i]) != isDigit(s[i]) || !isDigit(form[i]) && s[i] != form[i] {
			return false
		}
	}
	return true
}

// number returns the value of a short run of digits.
func number(digits string) int {
	n := 0
	for _, c := range digits {
		n = n*10 + int(c-'0')
	}
	return n
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }
