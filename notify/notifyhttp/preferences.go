package notifyhttp

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"encoding/json"
	"errors"
	"html/template"
	"net/http"
	"slices"
	"strings"

	"github.com/belfry-go/belfry/notify"
)

// PreferencesOptions are the settings of [Preferences]. Nil and all zero values mean the
// defaults.
type PreferencesOptions struct {
	// Methods are the delivery methods on the page, such as "email" and "sms", in their
	// order. Nil: the method of the message with the link. A recipient without a Ref is
	// known by one address and chooses only for its method.
	Methods []string
	// GroupTitle returns the title of one of notify.Options.Groups in a language of the
	// page, such as "de". If it is nil or returns "", the group's own title is used.
	GroupTitle func(group, language string) string
}

// Preferences is [Unsubscribe] with a choice for each of notify.Options.Groups and each
// method; mount it instead. The holder of a link of notify.Options.Unsubscribe sees its
// recipient's choices. A GET changes nothing. A POST stores the choices; the POST of a
// mail program (RFC 8058) unsubscribes from the message's group. Without groups the
// choice is for all messages of a method. The page is in English, Arabic, German, French,
// Spanish or Vietnamese, as the browser asks for or the reader chooses, and needs no
// JavaScript. It panics without a notifier.
func Preferences(n *notify.Notifier, opts *PreferencesOptions) http.Handler {
	if n == nil {
		panic("notifyhttp: Preferences needs a notifier")
	}
	s := preferences{contacts: n.Contacts()}
	if opts != nil {
		s.o = *opts
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /", s.ask)
	mux.HandleFunc("POST /", s.act)
	return mux
}

type preferences struct {
	contacts notify.Contacts
	o        PreferencesOptions
}

//go:embed preferences
var preferenceFiles embed.FS

var preferencesPage = template.Must(template.ParseFS(preferenceFiles, "preferences/page.html"))

// preferenceTexts are the fixed texts of the page in one language.
type preferenceTexts struct {
	Lang, Dir                        string
	Title, Intro, All                string
	Email, SMS, WhatsApp, Voice      string
	Save, Stop, Stored, Necessary    string
	VoidTitle, Void, BusyTitle, Busy string
	Languages                        string
}

var (
	preferenceLanguages = readPreferenceTexts()
	preferenceStyle     = template.CSS(preferenceFile("page.css"))
	preferencePolicy    = policyOf(string(preferenceStyle))
	// languageOrder is the order of the page's language links.
	languageOrder = []string{"en", "ar", "de", "es", "fr", "vi"}
)

func preferenceFile(name string) []byte {
	text, err := preferenceFiles.ReadFile("preferences/" + name)
	if err != nil {
		panic(err)
	}
	return text
}

func readPreferenceTexts() (out map[string]preferenceTexts) {
	if err := json.Unmarshal(preferenceFile("texts.json"), &out); err != nil {
		panic(err)
	}
	return out
}

// policyOf allows the page its own style and form, and nothing else.
func policyOf(style string) string {
	sum := sha256.Sum256([]byte(style))
	return "default-src 'none'; style-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) +
		"'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
}

// method is the name of a delivery method.
func (t preferenceTexts) method(name string) string {
	return cmp.Or(map[string]string{"email": t.Email, "sms": t.SMS, "whatsapp": t.WhatsApp, "voice": t.Voice}[name], name)
}

// The states of the page.
const (
	preferencesAsk  = "ask"
	preferencesVoid = "void"
	preferencesBusy = "busy"
)

// preferencePage is the data of the template.
type preferencePage struct {
	State, Lang string
	Texts       preferenceTexts
	Groups      []preferenceGroup
	Stored      bool
	Style       template.CSS
}

type preferenceGroup struct {
	Title   string
	Choices []preferenceChoice
}

// preferenceChoice is one checkbox; its Value names group and method.
type preferenceChoice struct {
	Value, Label string
	Wanted       bool
}

// Heading is the title of the page.
func (p preferencePage) Heading() string {
	switch p.State {
	case preferencesVoid:
		return p.Texts.VoidTitle
	case preferencesBusy:
		return p.Texts.BusyTitle
	}
	return p.Texts.Title
}

// Languages lists the languages of the links below the page.
func (preferencePage) Languages() (out []struct{ Tag, Name string }) {
	for _, tag := range languageOrder {
		out = append(out, struct{ Tag, Name string }{tag, preferenceLanguages[tag].Lang})
	}
	return out
}

// languageOf is the language that a reader chose, else the first that the browser asks
// for and the page has.
func languageOf(r *http.Request) string {
	wanted := append([]string{r.URL.Query().Get("lang")}, strings.SplitN(r.Header.Get("Accept-Language"), ",", 20)...)
	for _, part := range wanted {
		tag, _, _ := strings.Cut(strings.TrimSpace(part), ";")
		tag, _, _ = strings.Cut(strings.ToLower(tag), "-")
		if _, ok := preferenceLanguages[tag]; ok {
			return tag
		}
	}
	return "en"
}

func (s preferences) ask(w http.ResponseWriter, r *http.Request) { s.show(w, r, false, nil) }

func (s preferences) act(w http.ResponseWriter, r *http.Request) {
	oneClick, err := readForm(w, r)
	if err != nil {
		http.Error(w, "the form cannot be read: open the page again", http.StatusBadRequest)
		return
	}
	switch what := r.PostForm.Get("what"); {
	case oneClick:
		err = s.contacts.Unsubscribe(r.Context(), tokenIn(r), notify.LeaveGroup)
	case what == choose, what == "none":
		wanted := r.PostForm["want"]
		if what == "none" {
			wanted = nil
		}
		err = s.choose(r, r.PostForm["shown"], wanted)
	default:
		http.Error(w, "the form names no choice: open the page again", http.StatusBadRequest)
		return
	}
	s.show(w, r, true, err)
}

// choose stores the choices that the page has shown. A group that was added since is left
// alone.
func (s preferences) choose(r *http.Request, shown, wanted []string) error {
	all, err := s.contacts.GroupChoices(r.Context(), tokenIn(r), s.o.Methods...)
	if err != nil {
		return err
	}
	var out []notify.GroupChoice
	for _, c := range all {
		if v := valueOf(c); slices.Contains(shown, v) {
			c.Wanted = slices.Contains(wanted, v)
			out = append(out, c)
		}
	}
	return s.contacts.Choose(r.Context(), tokenIn(r), out...)
}

// valueOf names a choice in the form. A method contains no colon.
func valueOf(c notify.GroupChoice) string { return c.Method + ":" + c.Name }

// show answers with the page, or says that the link is invalid or the store unavailable.
func (s preferences) show(w http.ResponseWriter, r *http.Request, stored bool, err error) {
	lang, status := languageOf(r), http.StatusOK
	p := preferencePage{State: preferencesAsk, Lang: lang, Texts: preferenceLanguages[lang], Stored: stored, Style: preferenceStyle}
	var choices []notify.GroupChoice
	if err == nil {
		choices, err = s.contacts.GroupChoices(r.Context(), tokenIn(r), s.o.Methods...)
	}
	switch {
	case errors.Is(err, notify.ErrUnsubscribeToken):
		p.State, status = preferencesVoid, http.StatusNotFound
	case err != nil:
		p.State, status = preferencesBusy, http.StatusServiceUnavailable
	default:
		p.Groups = s.groups(choices, lang)
	}
	var out bytes.Buffer
	if err := preferencesPage.Execute(&out, p); err != nil {
		http.Error(w, p.Texts.Busy, http.StatusServiceUnavailable)
		return
	}
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Language", lang)
	h.Set("Content-Security-Policy", preferencePolicy)
	private(h)
	w.WriteHeader(status)
	_, _ = out.WriteTo(w) // the client is gone
}

// groups lists the choices, group by group.
func (s preferences) groups(choices []notify.GroupChoice, lang string) (out []preferenceGroup) {
	texts := preferenceLanguages[lang]
	name := ""
	for i, c := range choices {
		if i == 0 || c.Name != name {
			name = c.Name
			out = append(out, preferenceGroup{Title: s.title(c.Group, lang)})
		}
		g := &out[len(out)-1]
		g.Choices = append(g.Choices, preferenceChoice{valueOf(c), texts.method(c.Method), c.Wanted})
	}
	return out
}

func (s preferences) title(g notify.Group, lang string) string {
	if g.Name == "" {
		return preferenceLanguages[lang].All
	}
	own := ""
	if s.o.GroupTitle != nil {
		own = s.o.GroupTitle(g.Name, lang)
	}
	return cmp.Or(own, g.Title, g.Name)
}
