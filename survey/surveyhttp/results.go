package surveyhttp

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"html/template"
	"log/slog"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/belfry-go/belfry/internal/civil"
	"github.com/belfry-go/belfry/internal/httpapi"
	"github.com/belfry-go/belfry/internal/loglimit"
	"github.com/belfry-go/belfry/internal/spreadsheet"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/survey"
	"github.com/belfry-go/belfry/survey/form"
)

// ResultOptions are the settings of [Results]; nil and every zero value are useful.
type ResultOptions struct {
	// Style is the style sheet of the page; empty: the one that comes with the package.
	Style template.CSS
	// Zone is that of the times in the CSV files that the page leads to, a zone of the IANA
	// database and not time.Local; nil: UTC.
	Zone *time.Location
	// Logger gets what failed; default slog.Default().
	Logger *slog.Logger
}

// Results shows what customers said to whom the host lets in by [Caller].Results:
//
//	GET /                           the surveys, by their numbers
//	GET /{survey}                   a page
//	GET /{survey}/comments          what customers wrote, the newest first, for
//	                                [Caller].Responses; POST, too, so that what is
//	                                looked for stands in no URL
//	GET /{survey}/results.csv       the same counts; also results.json
//	GET /{survey}/responses.csv     the responses, for [Caller].Responses; also
//	                                responses.jsonl
//
// Parameters are since and until (days such as 2026-05-14, both included, in UTC), by (a
// dimension of [survey.ResultQuery]) and step (day, week or month); those of the page also
// compare (before or year, with since and until) and locale, the language of labels; those of a
// CSV separator (comma or semicolon), labels, locale and zone, as [survey.CSVOptions] have them. The page needs no
// JavaScript, and loads nothing; its pictures stand beside tables that say the same. CSV
// begins with a byte order mark, by which spreadsheets know UTF-8, and has no formulas.
// Responses are streamed; where that fails half-way the connection is broken off.
//
// What is refused is application/problem+json, with the statuses of [API]; 404 is a
// survey that the caller's tenant does not have. The links of the page are relative, so
// that the handler may be mounted with http.StripPrefix. It panics without a service, without
// who, and with a Zone that has no IANA name.
func Results(s *survey.Service, who Authorise, opts *ResultOptions) http.Handler {
	if s == nil || who == nil {
		panic("surveyhttp: Results needs a service and an Authorise")
	}
	var o ResultOptions
	if opts != nil {
		o = *opts
	}
	style, zone := cmp.Or(o.Style, shippedResultStyle), cmp.Or(o.Zone, time.UTC)
	if _, err := civil.LoadZone(zone.String()); err != nil { // the links of the page name it
		panic(fmt.Sprintf("surveyhttp: ResultOptions.Zone: %v", err))
	}
	h := &results{s: s, style: style, policy: pagePolicy(style), zone: zone, logger: loglimit.Limited(o.Logger)}
	sees := func(c Caller) bool { return c.Results }
	reads := func(c Caller) bool { return c.Results && c.Responses }
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", httpapi.Known(who, sees, h.list))
	mux.HandleFunc("GET /{survey}", httpapi.Known(who, sees, h.about(h.page)))
	mux.HandleFunc("GET /{survey}/comments", httpapi.Known(who, reads, h.about(h.comments)))
	mux.HandleFunc("POST /{survey}/comments", httpapi.Known(who, reads, h.about(h.comments)))
	mux.HandleFunc("GET /{survey}/results.csv", httpapi.Known(who, sees, h.about(h.csv)))
	mux.HandleFunc("GET /{survey}/results.json", httpapi.Known(who, sees, h.about(h.json)))
	mux.HandleFunc("GET /{survey}/responses.csv", httpapi.Known(who, reads, h.about(h.responses)))
	mux.HandleFunc("GET /{survey}/responses.jsonl", httpapi.Known(who, reads, h.about(h.responses)))
	mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) {
		httpapi.Fail(w, http.StatusNotFound, "there is nothing here")
	})
	return h.guarded(httpapi.Guarded(mux, "a request of another origin"))
}

// maxForm bounds what a reader fills in, in bytes as a form spells it.
const maxForm = 16 << 10

// pagePolicy allows a page its style sheet, and nothing else.
func pagePolicy(style template.CSS) string {
	return "default-src 'none'; style-src " + hashOf(string(style)) + "; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
}

type results struct {
	s      *survey.Service
	style  template.CSS
	policy string
	zone   *time.Location
	logger *slog.Logger
}

// guarded sets what every answer has.
func (h *results) guarded(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		head := w.Header()
		head.Set("Cache-Control", "no-store")
		head.Set("Content-Security-Policy", h.policy)
		head.Set("Cross-Origin-Opener-Policy", "same-origin")
		head.Set("Referrer-Policy", "no-referrer")
		head.Set("X-Content-Type-Options", "nosniff")
		head.Set("X-Robots-Tag", "noindex, nofollow")
		next.ServeHTTP(w, r)
	})
}

// surveyList is the page that leads to those of surveys.
type surveyList struct {
	Surveys []survey.Survey
	Next    string // the place of the next page
	Style   template.CSS
}

// list leads to the surveys of the caller's units, and those of no unit.
func (h *results) list(w http.ResponseWriter, r *http.Request, c Caller) {
	list, next, err := h.s.Surveys(r.Context(), c.Scope, storage.Page{After: r.URL.Query().Get("after")})
	switch {
	case errors.Is(err, storage.ErrPage):
		httpapi.Fail(w, http.StatusBadRequest, "after is not a place in this list")
		return
	case err == nil:
		list = slices.DeleteFunc(list, func(s survey.Survey) bool {
			return c.BusinessUnits != nil && s.BusinessUnit != "" && !slices.Contains(c.BusinessUnits, s.BusinessUnit)
		})
		err = h.render(w, r, "list.html", surveyList{list, next, h.style})
	}
	if err != nil {
		httpapi.LogFailure(r, h.logger, "surveys could not be listed", err)
		httpapi.Fail(w, http.StatusServiceUnavailable, "try again")
	}
}

// asked is a request that could be read, about a survey that there is.
type asked struct {
	caller       Caller
	query        survey.ResultQuery
	since, until string // as they were given
	compare      string // what the page compares with; empty: nothing
	sheet        survey.CSVOptions
	definition   form.Definition
}

// locale is the language of labels.
func (a *asked) locale() string { return cmp.Or(a.sheet.Locale, fallbackLocale) }

// about reads what is asked for.
func (h *results) about(serve func(http.ResponseWriter, *http.Request, *asked) error) httpapi.Handler[Caller] {
	return func(w http.ResponseWriter, r *http.Request, c Caller) {
		r.Body = http.MaxBytesReader(w, r.Body, maxForm)
		a, err := readAsked(r, c)
		if err != nil {
			httpapi.Fail(w, http.StatusBadRequest, err.Error())
			return
		}
		if a.definition, err = h.latest(r, c.Scope, a.query.SurveyID); err == nil {
			err = serve(w, r, a)
		}
		switch {
		case errors.Is(err, storage.ErrNotFound):
			httpapi.Fail(w, http.StatusNotFound, "there is no such survey")
		case errors.Is(err, storage.ErrPage):
			httpapi.Fail(w, http.StatusBadRequest, "after is not a place in this list")
		case err != nil:
			httpapi.LogFailure(r, h.logger, "results could not be shown", err)
			httpapi.Fail(w, http.StatusServiceUnavailable, "try again")
		}
	}
}

func readAsked(r *http.Request, c Caller) (*asked, error) {
	id, err := strconv.ParseInt(r.PathValue("survey"), 10, 64)
	if err != nil || id < 1 {
		return nil, errors.New("the survey is not a number above zero")
	}
	if err := r.ParseForm(); err != nil {
		return nil, errors.New("the parameters cannot be read")
	}
	p := r.Form
	a := &asked{caller: c, since: p.Get("since"), until: p.Get("until"), compare: p.Get("compare"), query: survey.ResultQuery{
		SurveyID: id, BusinessUnits: c.BusinessUnits, By: p.Get("by"), Step: survey.Step(p.Get("step")),
	}}
	if a.query.Since, err = readDay(a.since, "since"); err != nil {
		return nil, err
	}
	if a.query.Until, err = readDay(a.until, "until"); err != nil {
		return nil, err
	}
	if !a.query.Until.IsZero() {
		a.query.Until = a.query.Until.AddDate(0, 0, 1)
	}
	if !utf8.ValidString(a.query.By) || strings.ContainsFunc(a.query.By, unicode.IsControl) {
		return nil, errors.New("by is not a dimension")
	}
	switch a.query.Step {
	case "", survey.Daily, survey.Weekly, survey.Monthly:
	default:
		return nil, errors.New("step is not one of day, week and month")
	}
	if !a.query.Until.IsZero() && a.query.Until.Before(a.query.Since) {
		return nil, errors.New("until is before since")
	}
	if a.compare != "" && a.compare != compareBefore && a.compare != compareYear {
		return nil, errors.New("compare is neither before nor year")
	}
	a.sheet, err = readSheet(p)
	return a, err
}

// readSheet reads how a CSV is to be written.
func readSheet(p url.Values) (o survey.CSVOptions, err error) {
	switch p.Get("separator") {
	case "", "comma":
	case "semicolon":
		o.Comma = ';'
	default:
		return o, errors.New("separator is neither comma nor semicolon")
	}
	o.Labels, o.Locale = p.Has("labels"), p.Get("locale")
	if canonical(o.Locale) == "" && o.Locale != "" {
		return o, errors.New("locale is none")
	}
	if zone := p.Get("zone"); zone != "" {
		if o.Zone, err = civil.LoadZone(zone); err != nil {
			return o, errors.New("zone is not an IANA time zone, such as Europe/Dublin")
		}
	}
	return o, nil
}

// download says what a file is called: by its survey and its span of time.
func (a *asked) download(w http.ResponseWriter, file, media string) {
	name := "survey-" + strconv.FormatInt(a.query.SurveyID, 10)
	for _, day := range []string{a.since, a.until} {
		if day != "" {
			name += "-" + day
		}
	}
	w.Header().Set("Content-Type", media)
	w.Header().Set("Content-Disposition", `attachment; filename="`+name+"-"+file+`"`)
}

// readDay reads a day; none is zero.
func readDay(text, name string) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	day, err := time.Parse(time.DateOnly, text)
	if err != nil {
		return time.Time{}, fmt.Errorf("%s is not a day such as 2026-05-14", name)
	}
	return day, nil
}

// latest is the definition of the latest version.
func (h *results) latest(r *http.Request, scope survey.Scope, id int64) (form.Definition, error) {
	list, _, err := h.s.Versions(r.Context(), scope, id, storage.Page{Limit: 1})
	if err != nil {
		return form.Definition{}, err
	}
	if len(list) == 0 {
		return form.Definition{}, storage.ErrNotFound
	}
	return h.s.Definition(r.Context(), scope, id, list[0].Number)
}

// responses streams what customers answered.
func (h *results) responses(w http.ResponseWriter, r *http.Request, a *asked) error {
	q := survey.ResponseQuery{SurveyID: a.query.SurveyID, BusinessUnits: a.query.BusinessUnits, Since: a.query.Since, Until: a.query.Until}
	out := &started{ResponseWriter: w}
	var err error
	if strings.HasSuffix(r.URL.Path, ".csv") {
		out.before = spreadsheet.Mark
		a.download(w, "responses.csv", "text/csv; charset=utf-8")
		_, err = h.s.Responses().ExportCSV(r.Context(), a.caller.Scope, out, q, &a.sheet)
	} else {
		a.download(w, "responses.jsonl", "application/jsonl; charset=utf-8")
		_, err = h.s.Responses().ExportJSONLines(r.Context(), a.caller.Scope, out, q)
	}
	if err != nil && out.begun {
		httpapi.LogFailure(r, h.logger, "an export broke off", err)
		panic(http.ErrAbortHandler) // else half of it would look like all
	}
	if err == nil && !out.begun {
		_, err = out.Write(nil)
	}
	return err
}

// started knows whether anything was written, and writes something before it.
type started struct {
	http.ResponseWriter
	before string
	begun  bool
}

func (s *started) Write(p []byte) (int, error) {
	if !s.begun {
		s.begun = true
		if _, err := s.ResponseWriter.Write([]byte(s.before)); err != nil {
			return 0, err
		}
	}
	return s.ResponseWriter.Write(p)
}

// csv writes a line for each answer that was counted.
func (h *results) csv(w http.ResponseWriter, r *http.Request, a *asked) error {
	a.download(w, "results.csv", "text/csv; charset=utf-8")
	return h.s.Results().ExportCSV(r.Context(), a.caller.Scope, &started{ResponseWriter: w, before: spreadsheet.Mark}, a.query, &a.sheet)
}

// day is a day as it is written; empty: none.
func day(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.Format(time.DateOnly)
}

// The JSON of results.
type (
	groupJSON struct {
		Value       string         `json:"value,omitempty"`
		From        string         `json:"from,omitempty"`
		Asked       int            `json:"asked"`
		Opened      int            `json:"opened"`
		Answered    int            `json:"answered"`
		Responses   int            `json:"responses"`
		WaitSeconds int            `json:"waitSeconds,omitempty"`
		Questions   []questionJSON `json:"questions"`
	}
	questionJSON struct {
		ID     string         `json:"id"`
		Type   string         `json:"type"`
		N      int            `json:"n"`
		Few    bool           `json:"few,omitempty"`
		Mean   *float64       `json:"mean,omitempty"`
		NPS    *float64       `json:"nps,omitempty"`
		CSAT   *float64       `json:"csat,omitempty"`
		CES    *float64       `json:"ces,omitempty"`
		Counts map[string]int `json:"counts,omitempty"`
		// Places are the mean places of the options of a ranking.
		Places map[string]float64 `json:"places,omitempty"`
	}
)

func (h *results) json(w http.ResponseWriter, r *http.Request, a *asked) error {
	got, err := h.s.Results().Get(r.Context(), a.caller.Scope, a.query)
	if err != nil {
		return err
	}
	groups := make([]groupJSON, len(got.Groups))
	for i, g := range got.Groups {
		groups[i] = groupJSON{g.Value, day(g.From), g.Asked, g.Opened, g.Answered, g.Responses, int(g.Wait / time.Second), questionsJSON(g.Questions)}
	}
	httpapi.Reply(w, http.StatusOK, struct {
		Groups []groupJSON `json:"groups"`
		Hidden int         `json:"hidden"`
	}{groups, got.Hidden})
	return nil
}

func questionsJSON(questions []survey.QuestionResult) []questionJSON {
	out := make([]questionJSON, len(questions)) // never null
	for i, q := range questions {
		counts, places := map[string]int{}, map[string]float64{}
		for _, c := range q.Counts {
			counts[c.Value] = c.N
			if c.Place > 0 {
				places[c.Value] = c.Place
			}
		}
		out[i] = questionJSON{q.ID, string(q.Type), q.N, q.Few, known(q.Mean()), known(q.NPS()), known(q.CSAT()), known(q.CES()), counts, places}
	}
	return out
}

func known(f float64, ok bool) *float64 {
	if !ok {
		return nil
	}
	return &f
}

// page shows the counts.
func (h *results) page(w http.ResponseWriter, r *http.Request, a *asked) error {
	p, err := h.report(r, a)
	if err != nil {
		return err
	}
	return h.render(w, r, "page.html", p)
}

// render writes a page, whole or not at all.
func (h *results) render(w http.ResponseWriter, r *http.Request, name string, data any) error {
	var out bytes.Buffer
	if err := resultTemplate.ExecuteTemplate(&out, name, data); err != nil {
		h.logger.ErrorContext(r.Context(), "belfry: the page of results failed", slog.Any("error", err))
		return err
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Content-Language", fallbackLocale)
	_, _ = out.WriteTo(w) // the reader is gone
	return nil
}

// with is the address of another file of the same query, and of what is further asked of it.
func (a *asked) with(file string, further url.Values) string {
	p := url.Values{}
	maps.Copy(p, further)
	for name, value := range map[string]string{"since": a.since, "until": a.until, "by": a.query.By, "step": string(a.query.Step), "locale": a.sheet.Locale} {
		if value != "" {
			p.Set(name, value)
		}
	}
	return strconv.FormatInt(a.query.SurveyID, 10) + "/" + file + "?" + p.Encode()
}
