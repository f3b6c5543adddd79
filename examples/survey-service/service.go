package main

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"

	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/notify/channel"
	"github.com/belfry-go/belfry/notify/channel/file"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/sqlite"
	"github.com/belfry-go/belfry/support"
	"github.com/belfry-go/belfry/support/supporthttp"
	"github.com/belfry-go/belfry/survey"
	"github.com/belfry-go/belfry/survey/surveyhttp"
)

const (
	surveyID  = 4523
	visitFile = "closed-visits.csv"
)

//go:embed csi-gr.json
var definition []byte

// visits are as such files are: a row is there twice, and one has no address. The
// last is no general repair, so that the survey's trigger does not want it.
//
//go:embed closed-visits.csv
var visits []byte

// garage is the program.
type garage struct {
	dir     string
	store   *sqlite.Store
	out     *notify.Notifier
	surveys *survey.Service
	token   string // of the scanner and of the administrator
	log     *slog.Logger
	tell    func(format string, args ...any)
}

// openGarage opens the database and starts nothing. site is where the form will be, and
// sent is called with each mail. The caller closes the store.
func openGarage(ctx context.Context, dir, site string, tell func(string, ...any), sent func(m channel.Message, file string)) (*garage, error) {
	g := &garage{dir: dir, token: rand.Text(), log: slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelError})), tell: tell}
	if err := os.MkdirAll(g.path("tickets"), 0o700); err != nil {
		return nil, err
	}
	if _, err := os.Stat(g.path(visitFile)); errors.Is(err, fs.ErrNotExist) { // what the other system exports
		if err := os.WriteFile(g.path(visitFile), visits, 0o600); err != nil {
			return nil, err
		}
	}
	var err error
	if g.store, err = sqlite.Open(ctx, g.path("survey.db"), nil); err != nil {
		return nil, err
	}
	mails := mailer{file.New(g.path("mail"), &file.Options{From: "Workshop <service@workshop.example>"}), g.path("mail"), sent}
	g.out = notify.New(g.store, &notify.Options{Logger: g.log}, mails)
	g.surveys = survey.New(g.store, g.out, &survey.Options{SurveyURL: site + "/s/{token}", Logger: g.log})
	g.surveys.Subscribe(survey.SubscriberFunc("tickets", g.openTicket))
	return g, nil
}

func (g *garage) path(name string) string { return filepath.Join(g.dir, name) }

// publish makes the survey the one that ingest uses.
func (g *garage) publish(ctx context.Context) error {
	_, err := g.surveys.Publish(ctx, survey.Version{SurveyID: surveyID, Name: "CSI-GR", IntegrationID: "csi-gr", Definition: definition})
	return err
}

// mailer writes each link as an .eml file and prints it, since no mail server takes
// that mail. It can be asked about its mails, as the channel in it can.
type mailer struct {
	*file.Channel
	dir  string
	sent func(m channel.Message, file string)
}

// Send writes and prints.
func (m mailer) Send(ctx context.Context, message channel.Message) (channel.Receipt, error) {
	receipt, err := m.Channel.Send(ctx, message)
	if err == nil {
		m.sent(message, filepath.Join(m.dir, receipt.ID))
	}
	return receipt, err
}

// openTicket opens a ticket for a complaint; which responses are complaints, the
// survey's routing says. A response that comes twice, as it may, has one ticket: that
// of its link.
func (g *garage) openTicket(_ context.Context, e survey.ResponseCompleted) error {
	var answers struct {
		Rate      json.Number
		Complaint string
	}
	var visit struct{ WIP string }
	if err := errors.Join(json.Unmarshal(e.Answers, &answers), json.Unmarshal(e.CandidateMetadata, &visit)); err != nil {
		return survey.Permanent(err) // it would not be better the next time
	}
	text := fmt.Sprintf("Complaint of %s about order %s, rated %s of 10: %s", e.CustomerRef, visit.WIP, answers.Rate, answers.Complaint)
	if err := os.WriteFile(g.path("tickets/"+e.InstancePublicID+".txt"), []byte(text), 0o600); err != nil {
		return err
	}
	g.tell("ticket: %s", text)
	return nil
}

// handler serves the programs, the customers and the administrator.
func (g *garage) handler() http.Handler {
	forms := surveyhttp.Forms(g.surveys, &surveyhttp.FormOptions{Logger: g.log})
	mux := http.NewServeMux()
	mux.Handle("/api/Surveys/", surveyhttp.API(g.surveys, g.known, &surveyhttp.APIOptions{Logger: g.log}))
	mux.Handle("/s/", forms)
	mux.Handle("/SurveyInstances/", forms)
	mux.Handle("/admin/results/", http.StripPrefix("/admin/results", surveyhttp.Results(g.surveys, g.known, nil)))
	desk := support.New(support.Options{Store: g.store, Survey: g.surveys})
	mux.Handle("/admin/support/", supporthttp.New(desk, supporthttp.Options{Authorise: g.administrator, Logger: g.log}))
	mux.HandleFunc("GET /admin/enter", g.enter)
	mux.HandleFunc("GET /admin/links/{publicId}", g.admin(g.explain))
	mux.HandleFunc("GET /admin/responses.csv", g.admin(g.export))
	return mux
}

// known lets in a caller with the token: a program in a header, a browser in a cookie.
func (g *garage) known(r *http.Request) (surveyhttp.Caller, error) {
	given := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
	if cookie, err := r.Cookie("token"); err == nil && given == "" {
		given = cookie.Value
	}
	if subtle.ConstantTimeCompare([]byte(given), []byte(g.token)) != 1 {
		return surveyhttp.Caller{}, errors.New("the token is not known")
	}
	return surveyhttp.Caller{Ingest: true, Tick: true, Results: true, Responses: true}, nil
}

// administrator lets in the same caller to what the support desk works with.
func (g *garage) administrator(r *http.Request) (supporthttp.Caller, error) {
	_, err := g.known(r)
	return supporthttp.Caller{Actor: "the administrator", Read: true, Act: support.Actions(), Personal: true}, err
}

// enter takes the token into a cookie, and shows what waits for the administrator.
func (g *garage) enter(w http.ResponseWriter, r *http.Request) {
	http.SetCookie(w, &http.Cookie{Name: "token", Value: r.FormValue("token"), Path: "/admin/", HttpOnly: true, SameSite: http.SameSiteLaxMode})
	http.Redirect(w, r, "/admin/support/unhappy", http.StatusSeeOther)
}

// admin is what the support desk works with. It asks for the token too.
func (g *garage) admin(f func(w http.ResponseWriter, r *http.Request) error) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if _, err := g.known(r); err != nil {
			http.Error(w, "who are you?", http.StatusUnauthorized)
			return
		}
		switch err := f(w, r); {
		case errors.Is(err, storage.ErrNotFound):
			http.Error(w, "there is no such link", http.StatusNotFound)
		case err != nil:
			g.log.Error("the administrator was not served", "error", err)
			panic(http.ErrAbortHandler) // so that half of an answer is not taken for the whole
		}
	}
}

// explain shows what is known of a link.
func (g *garage) explain(w http.ResponseWriter, r *http.Request) error {
	e, err := g.surveys.Support().Explain(r.Context(), "", r.PathValue("publicId"))
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "%s; now: %s\n", e.Instance.Status, e.Now)
	for _, d := range e.Deliveries {
		fmt.Fprintln(w, d)
	}
	return nil
}

func (g *garage) export(w http.ResponseWriter, r *http.Request) error {
	w.Header().Set("Content-Type", "text/csv; charset=utf-8")
	_, err := g.surveys.Responses().ExportCSV(r.Context(), "", w, survey.ResponseQuery{SurveyID: surveyID}, nil)
	return err
}
