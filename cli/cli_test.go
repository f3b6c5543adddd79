package cli_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
	_ "time/tzdata" // the tests run on machines without zone data

	"github.com/benbjohnson/clock"
	"github.com/google/go-cmp/cmp"

	"github.com/belfry-go/belfry"
	"github.com/belfry-go/belfry/automation"
	"github.com/belfry-go/belfry/cli"
	"github.com/belfry-go/belfry/internal/audit"
	"github.com/belfry-go/belfry/internal/pgtest"
	"github.com/belfry-go/belfry/internal/storetest"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/notify/channel"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/driver"
	"github.com/belfry-go/belfry/support"
	"github.com/belfry-go/belfry/survey"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

var update = flag.Bool("update", false, "print the golden files again")

const tenant = storage.Scope("north")

// school is a host with this command line.
type school struct {
	*testing.T
	clk       *clock.Mock
	app       *cli.App
	out       *notify.Notifier
	reminders *automation.Scheduler
	poller    *belfry.Poller
	services  cli.Services
	answers   map[string]error // of the channel, by address
	closed    int
	said      strings.Builder // what was typed and answered
}

func schools(t *testing.T, test func(*school)) {
	t.Helper()
	t.Parallel()
	storetest.Each(t, func(t *testing.T, store storage.Store, clk *clock.Mock) { test(newSchool(t, store, clk)) })
}

func newSchool(t *testing.T, store storage.Store, clk *clock.Mock) *school {
	s := &school{T: t, clk: clk, answers: map[string]error{}}
	quiet := slog.New(slog.NewTextHandler(io.Discard, nil))
	mail := channel.Func("email:school", func(_ context.Context, m channel.Message) (channel.Receipt, error) {
		return channel.Receipt{ID: "p-" + m.To}, s.answers[m.To]
	})
	s.out = notify.New(store, &notify.Options{Logger: quiet, HashKey: []byte("a key of the hashes of recipients")}, mail)
	s.out.Register(notify.Type{Name: "news", InDoubt: notify.Hold, Renderer: notify.Template{Subject: "News for {{.Recipient.Name}}", Text: "Dear {{.Recipient.Name}},\nschool is out."}})
	s.reminders = automation.New(store, s.out, &automation.Options{Logger: quiet})
	s.reminders.Register(automation.ReminderType{
		Name: "certificate", SendAt: "09:00", Zone: "UTC", Template: notify.Template{Subject: "It expires on {{.TargetDate}}"},
		Recipients: automation.RecipientFunc(func(_ context.Context, d automation.Due) ([]notify.Recipient, error) {
			if d.Source.ID == "nobody" {
				return nil, nil
			}
			return []notify.Recipient{{Ref: d.Source.ID, Channel: "email:school", Address: d.Source.ID + "@example.com"}}, nil
		}),
	})
	surveys := survey.New(store, s.out, &survey.Options{SurveyURL: "https://school.example/s/{token}", Logger: quiet})
	s.poller = belfry.NewPoller(store, &belfry.Options{Logger: quiet, Retention: belfry.Retention{Messages: 30 * 24 * time.Hour}}, s.reminders, s.out, surveys)
	s.services = cli.Services{
		Options: support.Options{
			Store: store, Automation: s.reminders, Notify: s.out, Survey: surveys,
			Directory: func(_ context.Context, _ support.Scope, text string) ([]support.Person, error) {
				return []support.Person{{Ref: text, Name: "Ms " + text}}, nil
			},
		},
		Poller: s.poller,
		Samples: []cli.Sample{{
			Name: "the news", Job: notify.Job{Type: "news"}, Recipient: notify.Recipient{Name: "Sam", Channel: "email:school", Address: "sam@example.com"},
		}},
		Close: func() error { s.closed++; return nil },
	}
	s.app = &cli.App{Open: func(context.Context, bool) (*cli.Services, error) { return &s.services, nil }}
	return s
}

func (s *school) must(err error) {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
}

func (s *school) remind(person string) {
	s.Helper()
	s.remindOn(person, automation.Date{Year: 2026, Month: 4, Day: 24})
}

func (s *school) remindOn(person string, on automation.Date) {
	s.Helper()
	_, err := s.reminders.Ensure(s.Context(), automation.Candidate{
		Scope: tenant, Type: "certificate", Source: automation.Source{Type: "employee", ID: person}, Person: person,
		TargetDate: on, DaysBefore: 7,
	})
	s.must(err)
}

func (s *school) tell(person string) {
	s.Helper()
	_, err := s.out.Notify(s.Context(), notify.Job{
		Scope: tenant, Type: "news", PartitionKey: "news", RowKey: person, EventData: json.RawMessage(`{}`),
		Recipients: []notify.Recipient{{Ref: person, Name: person, Channel: "email:school", Address: person + "@example.com"}},
	})
	s.must(err)
}

func (s *school) drain() {
	s.Helper()
	for range 3 {
		s.must(s.poller.Drain(s.Context()))
	}
}

// fill has something of each kind: sent, in doubt, refused by a channel whose key is
// revoked, planned, and without a recipient.
func (s *school) fill() {
	s.Helper()
	s.answers["kim@example.com"] = channel.Unknown("timeout", errors.New("no answer"))
	for _, person := range []string{"sam", "nobody"} {
		s.remind(person)
	}
	s.tell("sam")
	s.tell("kim")
	s.drain()
	s.clk.Set(time.Date(2026, 4, 20, 8, 0, 0, 0, time.UTC))
	s.remindOn("lea", automation.Date{Year: 2026, Month: 6, Day: 1}) // is to come
	s.drain()
}

var random = regexp.MustCompile(`\b[0-9a-f]{32}\b|-after \d+`)

// run runs a command, and notes what it said.
func (s *school) run(args ...string) (code int, stdout, stderr string) {
	s.Helper()
	var out, wrong bytes.Buffer
	code = cli.Run(s.Context(), s.app, args, &out, &wrong)
	typed := make([]string, len(args))
	for i, a := range args {
		if typed[i] = a; strings.ContainsAny(a, " ␟") {
			typed[i] = "'" + a + "'"
		}
	}
	fmt.Fprintf(&s.said, "$ belfry %s\n%s%s[%d]\n\n", strings.Join(typed, " "), out.String(), wrong.String(), code)
	return code, out.String(), wrong.String()
}

// want runs a command, and wants its exit code.
func (s *school) want(code int, args ...string) (stdout string) {
	s.Helper()
	got, out, wrong := s.run(args...)
	if got != code {
		s.Errorf("%q: exit %d, not %d\n%s%s", args, got, code, out, wrong)
	}
	return out
}

// golden compares what was said with a file, on every adapter.
func (s *school) golden(name string) {
	s.Helper()
	said := random.ReplaceAllString(s.said.String(), "(an id)")
	path := "testdata/" + name
	if *update {
		s.must(os.WriteFile(path, []byte(said), 0o600))
	}
	want, err := os.ReadFile(path)
	s.must(err)
	if diff := cmp.Diff(string(want), said); diff != "" {
		s.Errorf("%s differs (-update prints it again):\n%s", path, diff)
	}
}

// What a person types at three in the morning, and what is answered: the same words on
// every adapter.
func TestACommandLineAnswersAndActs(t *testing.T) {
	schools(t, func(s *school) {
		s.fill()
		s.want(cli.ExitDone, "check")
		s.want(cli.ExitNeedsYou, "health", "-everywhere")
		s.want(cli.ExitNeedsYou, "holds", "-scope", "north")
		s.want(cli.ExitNeedsYou, "holds", "-scope", "north", "-table", "outgoing_message", "-cause", "OutcomeUnknown")
		s.want(cli.ExitDone, "person", "sam", "-scope", "north")
		s.want(cli.ExitDone, "person", "-scope", "north", "-entity", "employee:nobody")
		s.want(cli.ExitDone, "person", "lea", "-scope", "north")
		s.want(cli.ExitDone, "why", "p-sam@example.com", "-scope", "north")
		s.want(cli.ExitDone, "messages", "-scope", "north", "-state", "sent", "-since", "24h")
		s.want(cli.ExitDone, "upcoming", "-scope", "north", "-until", "960h")
		s.want(cli.ExitDone, "reminders", "-scope", "north")
		s.want(cli.ExitDone, "surveys", "-scope", "north")
		s.want(cli.ExitDone, "reports", "-scope", "north")
		by := []string{"-actor", "ann", "-reason", "its log says so"}
		s.want(cli.ExitNotDone, "resolve", "-scope", "north", "-as", "sent", "-table", "outgoing_message", "-cause", "OutcomeUnknown")
		s.want(cli.ExitDone, append([]string{"resolve", "-scope", "north", "-as", "sent", "-table", "outgoing_message", "-cause", "OutcomeUnknown", "-yes"}, by...)...)
		s.want(cli.ExitRefused, append([]string{"resolve", "-scope", "north", "-as", "sent", "-table", "outgoing_message", "-cause", "OutcomeUnknown", "-yes"}, by...)...)
		s.want(cli.ExitDone, "person", "kim", "-scope", "north")
		s.want(cli.ExitNotDone, "pause", "-domain", "notify", "-channel", "email:school", "-everywhere", "-until", "90m")
		s.want(cli.ExitDone, append([]string{"pause", "-domain", "notify", "-channel", "email:school", "-everywhere", "-until", "90m", "-yes"}, by...)...)
		s.want(cli.ExitNeedsYou, "health", "-everywhere")
		s.want(cli.ExitDone, append([]string{"resume", "-domain", "notify", "-channel", "email:school", "-everywhere", "-yes"}, by...)...)
		s.want(cli.ExitDone, "health", "-scope", "north")
		s.want(cli.ExitNotDone, "replan", "-scope", "north", "-type", "certificate")
		s.want(cli.ExitDone, append([]string{"replan", "-scope", "north", "-type", "certificate", "-yes"}, by...)...)
		s.want(cli.ExitDone, "replan", "-scope", "north", "-list")
		s.want(cli.ExitDone, "audit", "-scope", "north", "-limit", "2")
		s.want(cli.ExitDone, "preview")
		s.want(cli.ExitDone, "preview", "the news")
		s.want(cli.ExitDone, "retain")
		s.want(cli.ExitNotDone, "erase", "sam", "-scope", "north", "-address", "email:sam@example.com")
		s.want(cli.ExitDone, append([]string{"erase", "sam", "-scope", "north", "-address", "email:sam@example.com", "-yes"}, by...)...)
		s.want(cli.ExitDone, "person", "sam", "-scope", "north")
		if s.closed != 32 {
			s.Errorf("closed %d times", s.closed)
		}
		s.golden("session.golden")
	})
}

// What a provider's outage has left in doubt is listed by its hours, and resolved at once.
func TestTheDoubtsOfAnOutageAreResolvedAtOnce(t *testing.T) {
	schools(t, func(s *school) {
		s.fill()
		s.want(cli.ExitNeedsYou, "doubts", "-scope", "north")
		s.want(cli.ExitDone, "doubts", "-scope", "south")
		outage := []string{"doubts", "-scope", "north", "-channel", "email:school", "-from", "2026-03-01T08:00:00Z", "-to", "2026-03-01T08:01:00Z", "-as"}
		s.want(cli.ExitRefused, append(outage, "again")...)
		s.want(cli.ExitNotDone, append(outage, "sent")...)
		s.want(cli.ExitUsage, append(outage, "sent", "-yes")...)
		yes := append(outage, "sent", "-yes", "-actor", "ann", "-reason", "its log says so")
		s.want(cli.ExitDone, yes...)
		s.want(cli.ExitRefused, yes...)
		s.want(cli.ExitDone, "doubts", "-scope", "north")
		s.golden("doubts.golden")
	})
}

// An export is what Privacy writes, and holds nothing else.
func TestAnExportIsLinesOfJSON(t *testing.T) {
	schools(t, func(s *school) {
		s.fill()
		out := s.want(cli.ExitDone, "export", "sam", "-scope", "north")
		if strings.Count(out, `"table":"outgoing_message"`) != 2 || strings.Contains(out, "kim") {
			s.Error(out)
		}
		for line := range strings.Lines(out) {
			if !json.Valid([]byte(line)) {
				s.Errorf("no JSON: %s", line)
			}
		}
	})
}

// Whom erase has put on a list, reapply erases from a database that has them again.
func TestAListOfErasuresIsAppliedAgain(t *testing.T) {
	schools(t, func(s *school) {
		s.fill()
		name := filepath.Join(s.TempDir(), "erased")
		by := []string{"-yes", "-actor", "ann", "-reason", "a letter"}
		s.want(cli.ExitNotDone, "erase", "sam", "-scope", "north", "-list", name)
		s.want(cli.ExitDone, append([]string{"erase", "sam", "-scope", "north", "-list", name}, by...)...)
		list, err := os.ReadFile(name)
		if err != nil {
			s.Fatal(err)
		}
		if want := `{"scope":"north","person":{"ref":"sam"}}` + "\n"; string(list) != want {
			s.Errorf("the list is %s", list)
		}
		if err := os.WriteFile(name, bytes.ReplaceAll(list, []byte("sam"), []byte("kim")), 0o600); err != nil {
			s.Fatal(err)
		}
		if before := s.want(cli.ExitDone, "export", "kim", "-scope", "north"); before == "" {
			s.Error("nothing is known of kim")
		}
		s.want(cli.ExitNotDone, "reapply", name)
		s.want(cli.ExitDone, append([]string{"reapply", name}, by...)...)
		if after := s.want(cli.ExitDone, "export", "kim", "-scope", "north"); strings.Contains(after, "kim@") {
			s.Error(after)
		}
		if err := os.WriteFile(name, []byte(`{"person":"kim"}`), 0o600); err != nil {
			s.Fatal(err)
		}
		for _, args := range [][]string{{"reapply", name}, append([]string{"reapply", name}, by...)} {
			if out := s.want(cli.ExitFailed, args...); strings.Contains(out, "kim") {
				s.Error(out)
			}
		}
	})
}

// Programs read one JSON document, in the names of the API.
func TestAnswersInJSONAreOneDocument(t *testing.T) {
	schools(t, func(s *school) {
		s.fill()
		for _, c := range []struct {
			code int
			args []string
			has  []string
		}{
			{cli.ExitNeedsYou, []string{"health", "-everywhere"}, []string{`"needs": [`, `"domain": "notify"`, `"kind": "Doubt"`, `"toDo": `}},
			{cli.ExitNeedsYou, []string{"holds", "-scope", "north"}, []string{`"reason": "OutcomeUnknown"`, `"rows": 1`}},
			{cli.ExitNeedsYou, []string{"holds", "-scope", "north", "-table", "outgoing_message", "-cause", "OutcomeUnknown"}, []string{`"messageId": `, `"outcome": "NeedsYou"`}},
			{cli.ExitDone, []string{"person", "sam", "-scope", "north"}, []string{`"past": [`, `"person": "sam"`, `"providerId": "p-sam@example.com"`}},
			{cli.ExitNotDone, []string{"pause", "-domain", "automation", "-scope", "north"}, []string{`"dryRun": true`, `"done": true`}},
			{cli.ExitNeedsYou, []string{"doubts", "-scope", "north"}, []string{`"doubts": [`, `"channel": "email:school"`, `"rows": 1`}},
			{cli.ExitNotDone, []string{"doubts", "-everywhere", "-channel", "email:school", "-from", "2026-03-01T00:00:00Z", "-to", "2026-03-02T00:00:00Z", "-as", "sent"}, []string{`"dryRun": true`, `"effect": "counts as sent: 1 of unknown outcome`}},
			{cli.ExitNotDone, []string{"replan", "-scope", "north"}, []string{`"scanned": 1`}},
			{cli.ExitDone, []string{"replan", "-scope", "north", "-list"}, []string{`[]`}},
			{cli.ExitDone, []string{"replan", "-scope", "north", "-type", "certificate", "-yes", "-actor", "ann", "-reason", "why"}, []string{`"type": "certificate"`}},
			{cli.ExitDone, []string{"preview", "the news"}, []string{`"subject": "News for Sam"`}},
			{cli.ExitDone, []string{"retain"}, []string{`"table": "outgoing_message"`, `"announcedOn": `}},
			{cli.ExitNotDone, []string{"erase", "sam", "-scope", "north"}, []string{`"emptied": `}},
		} {
			out := s.want(c.code, append(c.args, "-json")...)
			if !json.Valid([]byte(out)) {
				s.Errorf("%q: no JSON: %s", c.args, out)
			}
			for _, text := range c.has {
				if !strings.Contains(out, text) {
					s.Errorf("%q has no %s:\n%s", c.args, text, out)
				}
			}
		}
	})
}

// Nothing changes without -yes, nor without an actor and a reason, nor by a question.
func TestNothingIsDoneWithoutAYesAnActorAndAReason(t *testing.T) {
	schools(t, func(s *school) {
		s.fill()
		before, _ := s.needs(), s.said.String()
		cause := []string{"-scope", "north", "-table", "outgoing_message", "-cause", "OutcomeUnknown"}
		for _, args := range [][]string{
			append([]string{"resolve", "-as", "sent"}, cause...), append([]string{"cancel"}, cause...),
			{"doubts", "-scope", "north", "-channel", "email:school", "-from", "2026-03-01T00:00:00Z", "-to", "2026-03-02T00:00:00Z", "-as", "sent"},
			{"pause", "-domain", "notify", "-scope", "north"}, {"replan", "-scope", "north"}, {"erase", "sam", "-scope", "north"},
		} {
			if code, _, wrong := s.run(args...); code != cli.ExitNotDone && code != cli.ExitRefused || code == cli.ExitNotDone && !strings.Contains(wrong, "-yes") {
				s.Errorf("%q: %d, %s", args, code, wrong)
			}
			for _, half := range [][]string{{"-yes"}, {"-yes", "-actor", "ann"}, {"-yes", "-reason", "why"}} {
				if code, _, wrong := s.run(append(args, half...)...); code != cli.ExitUsage || !strings.Contains(wrong, "-actor and -reason") {
					s.Errorf("%q %q: %d, %s", args, half, code, wrong)
				}
			}
		}
		if after := s.needs(); after != before {
			s.Errorf("something was done:\n%s\n%s", before, after)
		}
		if all, err := s.reminders.Maintenance().Replans(s.Context(), tenant); err != nil || len(all) > 0 {
			s.Error(all, err)
		}
	})
}

func (s *school) needs() string {
	s.Helper()
	_, needs, _ := s.run("holds", "-everywhere", "-json")
	_, story, _ := s.run("person", "sam", "-scope", "north", "-json")
	return needs + story
}

// A wrong command line says what is wrong, and opens nothing.
func TestAWrongCommandLineOpensNothing(t *testing.T) {
	t.Parallel()
	app := &cli.App{Name: "school belfry", Open: func(context.Context, bool) (*cli.Services, error) {
		t.Error("it was opened")
		return nil, errors.New("no")
	}}
	for says, args := range map[string][]string{
		"no command":                           {},
		`unknown command "frobnicate"`:         {"frobnicate"},
		"flag provided but not defined: -x":    {"holds", "-x"},
		`it takes no arguments, but got "all"`: {"health", "all"},
		"-limit is -1, but must be 1 to 1000":  {"holds", "-limit", "-1"},
		"-limit is 0, but must be 1 to 1000":   {"person", "sam", "-limit", "0"},
		"-scope and -everywhere cannot":        {"health", "-scope", "a", "-everywhere"},
	} {
		var out, wrong bytes.Buffer
		code := cli.Run(t.Context(), app, args, &out, &wrong)
		if code != cli.ExitUsage || !strings.Contains(wrong.String(), says) || !strings.Contains(wrong.String(), "school belfry") || out.Len() > 0 {
			t.Errorf("%q: %d\n%s\n%s", args, code, out.String(), wrong.String())
		}
	}
}

// What makes no sense is refused before anything is done.
func TestWhatMakesNoSenseIsUsage(t *testing.T) {
	schools(t, func(s *school) {
		s.fill()
		for says, args := range map[string][]string{
			"-as must be sent or again":     {"resolve", "Message/x"},
			"give targets":                  {"release"},
			"-from and -to must be times":   {"doubts", "-channel", "email:school", "-as", "sent", "-from", "2026-03-01T00:00:00Z"},
			"-channel is required":          {"doubts", "-everywhere"},
			"-table and -cause go together": {"holds", "-table", "outgoing_message"},
			"is not a target":               {"release", "Message"},
			"-domain must be automation or": {"pause"},
			`-until is "soon", but must be`: {"pause", "-domain", "notify", "-until", "soon"},
			"an address is METHOD:ADDRESS":  {"person", "-address", "sam@example.com"},
			"an entity is TYPE:ID":          {"person", "-entity", "sam"},
			"give one person":               {"person", "sam", "kim"},
			"needs one of Person":           {"person"},
			"give a key":                    {"why"},
			`-state is "lost", but must be`: {"messages", "-state", "lost"},
			"must be a time in the past":    {"messages", "-since", "tomorrow"},
			"-until must be in the future":  {"upcoming", "-until", "2020-01-01T00:00:00Z"},
			"needs a Ref, an address":       {"erase"},
			"this action is not possible":   {"retry", "Job/x"},
		} {
			code, _, wrong := s.run(args...)
			if code != cli.ExitUsage || !strings.Contains(wrong, says) {
				s.Errorf("%q: %d, %s", args, code, wrong)
			}
		}
		s.want(cli.ExitRefused, "release", "Message/none", "-scope", "north")
		s.want(cli.ExitRefused, "why", "none", "-scope", "north")
		s.want(cli.ExitRefused, "preview", "none")
	})
}

// What a program over a database alone cannot do it leaves to the host's, and says so
// before anything is done.
func TestAProgramWithoutTheHostsPartsSaysSo(t *testing.T) {
	schools(t, func(s *school) {
		s.fill()
		bare := s.services
		bare.Poller, bare.Samples, bare.Bare = nil, nil, true
		s.services = bare
		yes := []string{"-yes", "-actor", "ann", "-reason", "why"}
		for _, args := range [][]string{
			{"preview"}, {"retain"}, {"export", "sam"}, append([]string{"erase", "sam"}, yes...), {"person", "-address", "email:sam@example.com"},
		} {
			if code, out, wrong := s.run(args...); code != cli.ExitElsewhere || out != "" || !strings.Contains(wrong, "in the program that has them") {
				s.Errorf("%q: %d, %s, %s", args, code, out, wrong)
			}
		}
		if out := s.want(cli.ExitNotDone, "replan", "-scope", "north"); !strings.Contains(out, "only your program can say") {
			s.Error(out)
		}
		s.want(cli.ExitDone, append([]string{"replan", "-scope", "north"}, yes...)...)
		s.must(bare.Store.View(s.Context(), func(from driver.Reader) error {
			said, err := audit.History(s.Context(), from, tenant, "automation_reconciliation", "replan\x1ftype \x1fsetting ", 2)
			if len(said) != 1 || said[0].Action != "Replan" || said[0].Actor != "ann" || said[0].Reason != "why" {
				s.Errorf("who asked for the re-plan, and why, is not in the audit: %v", said)
			}
			return err
		}))
		s.drain() // the host's Poller works the mark off
		if all, err := s.reminders.Maintenance().Replans(s.Context(), tenant); err != nil || len(all) == 0 || slices.ContainsFunc(all, func(r automation.ReplanState) bool { return !r.Done }) {
			s.Error(all, err)
		}
	})
}

// A hostile text gets to no terminal as it is.
func TestAHostileTextIsShownAsText(t *testing.T) {
	schools(t, func(s *school) {
		hostile := "\x1b[31mred\u202etxt.exe\a"
		_, err := s.out.EnsureOutgoingMessage(s.Context(), nil, notify.OutgoingMessage{
			Scope: tenant, Channel: "email:school", PartitionKey: "1", NotificationType: hostile, RecipientRef: "sam", Address: "sam@example.com",
		})
		s.must(err)
		s.drain()
		out := s.want(cli.ExitDone, "person", "sam", "-scope", "north")
		if strings.ContainsAny(out, "\x1b\u202e\a") || !strings.Contains(out, `\u{1B}[31mred\u{202E}txt.exe\u{7}`) {
			s.Errorf("%q", out)
		}
	})
}
