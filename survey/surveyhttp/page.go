package surveyhttp

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"encoding/json"
	"html/template"
	"log/slog"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/belfry-go/belfry/survey"
	"github.com/belfry-go/belfry/survey/form"
)

// State is what a page shows.
type State string

// The states of a page.
const (
	StateForm     State = "form"     // the questions, with what is wrong with the answers
	StateThanks   State = "thanks"   // the answers were taken
	StateAnswered State = "answered" // there are answers already; a GET
	StateRefused  State = "refused"  // there are other answers already; a POST
	StateExpired  State = "expired"  // its time is over
	StateNothing  State = "nothing"  // no such link, or none any more
	StateBusy     State = "busy"     // not available now
	StateUnread   State = "unread"   // what was sent could not be read
	StateLeave    State = "leave"    // asks whether to send no more links; posts to Action
	StateLeft     State = "left"     // no more are sent
)

// Page is what a template makes a page from. A template of the host's gives the
// document Lang and Dir, and puts Style and Script into it as they are, in a style
// and a script element of their own: the answer's Content-Security-Policy knows
// their hashes and allows no other. Its form posts to Action.
type Page struct {
	State State
	// Lang is the page's language as in BCP 47, Dir "ltr" or "rtl".
	Lang, Dir string
	Texts     Texts
	// Title, Intro and Thanks are the survey's; empty where it has none, and in
	// states without a survey. Where the answers lead to another page, Link leads there.
	Title, Intro, Thanks string
	Link, LinkText       string
	// Nonce is, of an open link and of an anonymous survey, what the form sends in a control "nonce",
	// by which one that was sent twice is known.
	Nonce string
	// Open says that the link is: the next person may sit at this tab. Anonymous says that the survey is.
	Open, Anonymous bool
	// Languages are the others in which the form can be shown.
	Languages []Language
	// Logo, LogoText, Privacy and Contact are those of [FormOptions].
	Logo, LogoText, Privacy, Contact string
	// Fields are the questions, the rows of a grid in its own, with what was typed in [StateRefused], [StateExpired],
	// [StateUnread] and [StateBusy] too. More says that some of them are new: they follow from answers.
	Fields []Field
	More   bool
	// At is the page of the form that is shown, from 1, of Of; PageTitle and PageHelp are its. The
	// fields of the others are in the form, too, but hidden. A form says At in a control "page",
	// and the way back in one "to" with the value "back".
	At, Of              int
	PageTitle, PageHelp string
	// Kept is what was typed in [StateBusy] when the questions could not be read: a
	// template sends it again as hidden controls.
	Kept []Kept
	// Action is where the form posts to, and Opened where the script says that the page was
	// shown; both are relative.
	Action, Opened string

	Style  template.CSS
	Script template.JS
}

// Language is one in which a form can be shown, at an address that is relative.
type Language struct{ Tag, Dir, Name, Link string }

// Kept is a control of a form and its value.
type Kept struct{ Name, Value string }

// Typed says what the answers were, for a form that is not to be sent again.
func (f Field) Typed() []string {
	if len(f.Options) == 0 {
		return slices.DeleteFunc([]string{f.Value}, func(s string) bool { return s == "" })
	}
	var out []string
	for _, o := range f.Options {
		switch {
		case o.Chosen:
			out = append(out, o.Label)
		case o.Rank != "":
			out = append(out, o.Rank+". "+o.Label)
		}
	}
	return out
}

// Faults are the questions whose answers have to be changed.
func (p *Page) Faults() (out []Field) {
	for _, f := range p.All() {
		if f.Fault != "" {
			out = append(out, f)
		}
	}
	return out
}

// All are the fields, the rows of a grid behind it.
func (p *Page) All() (out []Field) {
	for _, f := range p.Fields {
		out = append(append(out, f), f.Rows...)
	}
	return out
}

// field is the one of a question; nil: there is none that is asked.
func (p *Page) field(question string) *Field {
	for i := range p.Fields {
		f := &p.Fields[i]
		if f.Hidden {
			continue
		}
		if f.Question == question {
			return f
		}
		for j := range f.Rows {
			if f.Rows[j].Question == question {
				return &f.Rows[j]
			}
		}
	}
	return nil
}

// Progress says which page is shown; empty: there is one.
func (p *Page) Progress() string {
	if p.Of < 2 {
		return ""
	}
	return strings.NewReplacer("{page}", strconv.Itoa(p.At), "{pages}", strconv.Itoa(p.Of)).Replace(p.Texts.Page)
}

// beside is the nearest page behind the shown one, or before it, that asks something; 0: there is
// none.
func (p *Page) beside(step int) int {
	for at := p.At + step; at >= 1 && at <= p.Of; at += step {
		if slices.ContainsFunc(p.Fields, func(f Field) bool { return f.Page == at && !f.Hidden }) {
			return at
		}
	}
	return 0
}

// First and Last say whether a page before or behind the shown one asks something.
func (p *Page) First() bool { return p.beside(-1) == 0 }

// Last is for a template, as First.
func (p *Page) Last() bool { return p.beside(1) == 0 }

// turn shows another page of the form.
func (p *Page) turn(link survey.Form, at int) {
	p.At, p.PageTitle, p.PageHelp = at, "", ""
	for i, n := range pagesOf(link.Definition.Questions) {
		if q := &link.Definition.Questions[i]; n == at && q.Type == form.PageQuestion {
			p.PageTitle, p.PageHelp = form.Fill(q.Label.For(p.Lang), link.Event), form.Fill(q.Help.For(p.Lang), link.Event)
		}
	}
}

// pagesOf are the pages of questions, from 1.
func pagesOf(questions []form.Question) []int {
	out, page := make([]int, len(questions)), 1
	for i, q := range questions {
		if q.Type == form.PageQuestion && i > 0 {
			page++
		}
		out[i] = page
	}
	return out
}

// Heading is the title of the document.
func (p *Page) Heading() string {
	switch p.State {
	case StateForm:
		if p.Title == "" {
			return p.Texts.Survey
		}
		return p.Title
	case StateThanks:
		return p.Texts.ThanksTitle
	case StateAnswered, StateRefused:
		return p.Texts.AnsweredTitle
	case StateExpired:
		return p.Texts.ExpiredTitle
	case StateBusy:
		return p.Texts.BusyTitle
	case StateUnread:
		return p.Texts.UnreadTitle
	case StateLeave:
		return p.Texts.LeaveTitle
	case StateLeft:
		return p.Texts.LeftTitle
	}
	return p.Texts.NothingTitle
}

// blank is a page without a survey, in the language that was chosen, else one that the
// browser asks for.
func (f *forms) blank(r *http.Request, state State) *Page {
	if chosen := r.URL.Query().Get("lang"); f.speaks(chosen) {
		return f.in(chosen, state)
	}
	return f.in(preferred(r.Header.Get("Accept-Language"), f.speaks), state)
}

// speaks says whether there are fixed texts in the language of a locale.
func (f *forms) speaks(locale string) bool { return match(f.o.Texts, locale) != "" }

// page is a page about a survey, in the recipient's language if the survey is
// written in it, else in one that it is written in.
func (f *forms) page(r *http.Request, link survey.Form, state State) *Page {
	d := link.Definition
	words, locale := spoken(d), link.Locale
	if chosen := f.chosen(r, words); chosen != "" {
		locale = chosen
	}
	if canonical(locale) == "" {
		locale = preferred(r.Header.Get("Accept-Language"), func(l string) bool {
			at := words.Locale(l)
			return at == "" && f.speaks(l) || at != "" && language(at) == language(l)
		})
	}
	if at := words.Locale(locale); at != "" {
		locale = at
	}
	p := f.in(locale, state)
	p.Open, p.Anonymous = link.Open, d.Anonymous
	say := func(t form.Text) string { return form.Fill(t.For(locale), link.Event) }
	p.Title, p.Intro, p.Thanks = say(d.Title), say(d.Intro), say(d.Thanks)
	if e := link.Ending; e != nil {
		p.Thanks, p.Link, p.LinkText = say(e.Text), e.Link, say(e.Label)
	}
	if state == StateForm {
		p.Languages = f.languages(words, locale)
	}
	return p
}

// chosen is the language that a customer has switched to: one that the survey is written
// in.
func (f *forms) chosen(r *http.Request, words form.Text) string {
	locale := r.URL.Query().Get("lang")
	if _, written := words[locale]; locale == "" || !written || !f.speaks(locale) {
		return ""
	}
	return locale
}

// query keeps the choice on the way through the pages.
func (f *forms) query(r *http.Request) string {
	if locale := canonical(r.URL.Query().Get("lang")); locale != "" {
		return "?lang=" + url.QueryEscape(r.URL.Query().Get("lang"))
	}
	return ""
}

// languages are those in which a survey is written and that have a name, but for the one
// of the page.
func (f *forms) languages(words form.Text, shown string) (out []Language) {
	for _, locale := range slices.Sorted(maps.Keys(words)) {
		if locale == "" || locale == shown || !f.speaks(locale) {
			continue
		}
		out = append(out, Language{Tag: canonical(locale), Dir: form.Direction(locale), Name: textsFor(f.o.Texts, locale).Language, Link: "?lang=" + url.QueryEscape(locale)})
	}
	return out
}

// spoken is a text that says in which languages a survey is written.
func spoken(d *form.Definition) form.Text {
	for _, q := range d.Questions {
		if len(q.Label) > 0 {
			return q.Label
		}
	}
	return d.Title
}

func (f *forms) in(locale string, state State) *Page {
	if canonical(locale) == "" {
		locale = fallbackLocale
	}
	return &Page{
		State: state, Lang: canonical(locale), Dir: form.Direction(locale), Texts: textsFor(f.o.Texts, locale),
		Logo: f.o.Logo, LogoText: f.o.LogoText, Privacy: f.o.Privacy, Contact: f.o.Contact.For(locale), Style: f.o.Style, Script: shippedScript,
	}
}

// show writes a page, whole or not at all.
func (f *forms) show(w http.ResponseWriter, r *http.Request, status int, p *Page) {
	var out bytes.Buffer
	if err := f.o.Template.Execute(&out, p); err != nil {
		f.o.Logger.ErrorContext(r.Context(), "belfry: the template of the survey pages failed", slog.Any("error", err))
		http.Error(w, p.Texts.Busy, http.StatusServiceUnavailable)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Content-Language", p.Lang)
	if r.Method == http.MethodPost { // else Back asks the customer whether to send the form again
		w.Header().Set("Cache-Control", "private, no-cache")
	}
	w.WriteHeader(status)
	_, _ = out.WriteTo(w) // the customer is gone
}

// ask draws the questions of a form with what is given as answers, and what was posted,
// which may be nothing. A
// question that the answers bring up, and that was not on the page they come from,
// is new: without JavaScript a customer has not seen it yet.
func (p *Page) ask(link survey.Form, answers json.RawMessage, given, posted url.Values) {
	d := link.Definition
	asked, pages := d.Asked(answers), pagesOf(d.Questions)
	if len(pages) > 0 {
		p.Of = pages[len(pages)-1]
	}
	p.turn(link, shownPage(posted, p.Of))
	for i, q := range d.Questions {
		if q.Type == form.PageQuestion {
			continue
		}
		f := fieldOf(i+1, q, link.Event, p.Lang, p.Texts, given[fieldName(q.ID)])
		if q.Grid != nil {
			grid := &p.Fields[len(p.Fields)-1]
			f.Hidden, f.Page = grid.Hidden, grid.Page
			grid.Rows = append(grid.Rows, f)
			continue
		}
		f.Hidden, f.Page = !slices.Contains(asked, q.ID), pages[i]
		f.New = posted != nil && q.When != nil && f.Page == p.At && !f.Hidden && !slices.Contains(posted[shownName], q.ID)
		p.More = p.More || f.New
		p.Fields = append(p.Fields, f)
	}
}

// shownPage is the page of the form that was sent; the last one, if it does not say; the first
// one, if nothing was sent.
func shownPage(posted url.Values, last int) int {
	if posted == nil {
		return min(1, last)
	}
	if at, err := strconv.Atoi(posted.Get(pageName)); err == nil && at >= 1 && at <= last {
		return at
	}
	return last
}

// mark says at the fields what is wrong, and shows the page of the first of them. It reports
// whether it could say all of it.
func (p *Page) mark(link survey.Form, faults []form.AnswerFault) bool {
	for i, fault := range faults {
		field := p.field(fault.QuestionID)
		if field == nil {
			return false
		}
		if field.Fault == "" {
			field.Fault = faultText(p.Texts, *link.Definition.Question(fault.QuestionID), fault.Code, p.Lang, field.Value)
		}
		if i == 0 {
			p.turn(link, field.Page)
		}
	}
	return true
}

//go:embed page
var assets embed.FS

var (
	shippedTemplate = template.Must(template.New("form.html").ParseFS(assets, "page/*.html"))
	shippedScript   = template.JS(asset("page/form.js"))
	shippedStyle    = template.CSS(asset("page/form.css"))
)

// DefaultStyle is the style sheet that comes with the package.
func DefaultStyle() template.CSS { return shippedStyle }

func asset(name string) string {
	text, err := assets.ReadFile(name)
	if err != nil {
		panic(err)
	}
	return string(text)
}

// contentPolicy allows a page its own script and style sheet, by their hashes, and
// nothing else that is inline; pictures and requests only to where it came from;
// and no frame around it.
func contentPolicy(style template.CSS) string {
	return "default-src 'none'; script-src " + hashOf(string(shippedScript)) + "; style-src " + hashOf(string(style)) +
		"; img-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
}

func hashOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}
