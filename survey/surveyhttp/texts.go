package surveyhttp

import (
	"encoding/json"
	"path"
	"strings"
)

// Texts are the fixed texts of the pages in one language. {min} and {max} stand for
// the bounds of a question.
type Texts struct {
	// Survey is the title of a survey that has none in this language.
	Survey   string `json:"survey,omitempty"`
	Optional string `json:"optional,omitempty"` // beside a question that need not be answered
	Yes      string `json:"yes,omitempty"`
	No       string `json:"no,omitempty"`
	Choose   string `json:"choose,omitempty"`   // the first line of a list of options
	AllApply string `json:"allApply,omitempty"` // hint where several options may be chosen
	Rank     string `json:"rank,omitempty"`     // hint of a ranking, from 1 to {max}, and what is wrong with one
	// NotLikely and Likely are the ends of an nps that has none of its own.
	NotLikely string `json:"notLikely,omitempty"`
	Likely    string `json:"likely,omitempty"`
	// Language is what the language calls itself, for a page in several; Privacy the link
	// to FormOptions.Privacy.
	Language string `json:"language,omitempty"`
	Privacy  string `json:"privacy,omitempty"`
	Between  string `json:"between,omitempty"` // hint: a number from {min} to {max}
	Submit   string `json:"submit,omitempty"`  // the button
	// Anonymous says that a survey is anonymous.
	Anonymous string `json:"anonymous,omitempty"`
	Page      string `json:"page,omitempty"`     // {page} of {pages}
	Next      string `json:"next,omitempty"`     // the button to the next page
	Back      string `json:"back,omitempty"`     // the button to the page before
	More      string `json:"more,omitempty"`     // some questions follow from answers
	Problem   string `json:"problem,omitempty"`  // above the list of what is wrong
	Error     string `json:"error,omitempty"`    // before each fault, for those who cannot see colours
	ForTitle  string `json:"forTitle,omitempty"` // before the title of a page with faults

	ThanksTitle   string `json:"thanksTitle,omitempty"`
	Thanks        string `json:"thanks,omitempty"` // where the survey has no text of its own
	AnsweredTitle string `json:"answeredTitle,omitempty"`
	Answered      string `json:"answered,omitempty"`
	Refused       string `json:"refused,omitempty"` // what was sent now was not stored
	ExpiredTitle  string `json:"expiredTitle,omitempty"`
	Expired       string `json:"expired,omitempty"` // what is sent now is not stored
	NothingTitle  string `json:"nothingTitle,omitempty"`
	Nothing       string `json:"nothing,omitempty"`
	BusyTitle     string `json:"busyTitle,omitempty"`
	Busy          string `json:"busy,omitempty"`
	UnreadTitle   string `json:"unreadTitle,omitempty"`
	Unread        string `json:"unread,omitempty"`

	// The page on which a customer wants no more links.
	LeaveTitle  string `json:"leaveTitle,omitempty"`
	Leave       string `json:"leave,omitempty"`
	LeaveButton string `json:"leaveButton,omitempty"`
	LeftTitle   string `json:"leftTitle,omitempty"`
	Left        string `json:"left,omitempty"`

	// What can be wrong with an answer.
	Required  string `json:"required,omitempty"`
	NotNumber string `json:"notNumber,omitempty"`
	Unclear   string `json:"unclear,omitempty"` // a number that could be two, such as 1.000
	NotWhole  string `json:"notWhole,omitempty"`
	TooSmall  string `json:"tooSmall,omitempty"`
	TooLarge  string `json:"tooLarge,omitempty"`
	TooLong   string `json:"tooLong,omitempty"` // more than {max} characters
	NotOption string `json:"notOption,omitempty"`
	TooFew    string `json:"tooFew,omitempty"`
	TooMany   string `json:"tooMany,omitempty"`
	Alone     string `json:"alone,omitempty"` // an option that stands alone, beside others
	NotDate   string `json:"notDate,omitempty"`
	Invalid   string `json:"invalid,omitempty"` // anything else
}

// over are the texts of t, and those of base where t has none.
func (t Texts) over(base Texts) Texts {
	own, err := json.Marshal(t)
	if err == nil {
		err = json.Unmarshal(own, &base)
	}
	if err != nil {
		panic(err) // strings always can
	}
	return base
}

// shippedTexts are the texts that come with the package, by language.
var shippedTexts = readTexts()

func readTexts() map[string]Texts {
	files, err := assets.ReadDir("page/texts")
	if err != nil {
		panic(err)
	}
	out := make(map[string]Texts, len(files))
	for _, file := range files {
		var t Texts
		if err := json.Unmarshal([]byte(asset("page/texts/"+file.Name())), &t); err != nil {
			panic(err)
		}
		out[strings.TrimSuffix(file.Name(), path.Ext(file.Name()))] = t
	}
	return out
}

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
