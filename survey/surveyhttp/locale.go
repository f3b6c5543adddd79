package surveyhttp

import (
	"slices"
	"strings"
)

// canonical is a locale in the lower case of its letters, with hyphens; empty if it
// cannot be one.
func canonical(locale string) string {
	out := strings.ToLower(strings.ReplaceAll(locale, "_", "-"))
	if len(out) < 2 || len(out) > 35 || strings.Trim(out, "abcdefghijklmnopqrstuvwxyz0123456789-") != "" || out[0] < 'a' {
		return ""
	}
	return out
}

const fallbackLocale = "en"

// match is the closest locale that there are texts for; empty if there is none.
func match(texts map[string]Texts, locale string) string {
	for at := canonical(locale); at != ""; at = at[:max(strings.LastIndexByte(at, '-'), 0)] {
		if _, ok := texts[at]; ok {
			return at
		}
	}
	return ""
}

func textsFor(texts map[string]Texts, locale string) Texts {
	if at := match(texts, locale); at != "" {
		return texts[at]
	}
	return texts[fallbackLocale]
}

// preferred is the first locale of an Accept-Language header that is spoken; empty
// if none is. Browsers write the one that is liked best first.
func preferred(header string, spoken func(locale string) bool) string {
	for _, part := range strings.SplitN(header, ",", 20) {
		tag, _, _ := strings.Cut(part, ";")
		if tag = canonical(strings.TrimSpace(tag)); tag != "" && spoken(tag) {
			return tag
		}
	}
	return ""
}

// language is the first part of a locale.
func language(locale string) string {
	out, _, _ := strings.Cut(canonical(locale), "-")
	return out
}

// rightToLeft are languages and scripts that are written from right to left.
var rightToLeft = []string{
	"ar", "arc", "ckb", "dv", "fa", "he", "iw", "khw", "ks", "ps", "sd", "syr", "ug", "ur", "yi",
}

var leftToRightScripts, rightToLeftScripts = []string{"latn", "cyrl", "deva"}, []string{"arab", "hebr", "thaa", "syrc", "nkoo"}

// direction is "rtl" or "ltr".
func direction(locale string) string {
	for _, part := range strings.Split(canonical(locale), "-") {
		switch {
		case slices.Contains(rightToLeftScripts, part):
			return "rtl"
		case slices.Contains(leftToRightScripts, part):
			return "ltr"
		}
	}
	if slices.Contains(rightToLeft, language(locale)) {
		return "rtl"
	}
	return "ltr"
}
