package support

// InWords is a code in words; empty: it has none.
func InWords(of, code string) string { return words[of+" "+code] }

// Words are all of them.
var Words = words
