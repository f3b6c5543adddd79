package chaostest

import (
	"context"
	"encoding/json"
	"fmt"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"github.com/belfry-go/belfry/internal/testlevel"
	"github.com/belfry-go/belfry/survey"
)

const tickers = 4

// links is how many there are; 10,000 in the long run.
func (f *fleet) links() int {
	if testlevel.Has(f.t, testlevel.Nightly) {
		return 10_000
	}
	return f.driver.share(f.t, 1000)
}

// fleet is an arena of tickers.
type fleet struct {
	*arena
	answered map[string]bool // by URL
}

// Tickers has four tickers at once work over due links, killed at random moments while
// customers answer. Each send is made once, since this provider can tell what it has
// accepted; no claim makes two calls; and no call begins for a link that was answered.
func Tickers(t *testing.T, d Driver) {
	f := &fleet{newArena(t, d), map[string]bool{}}
	f.offer()
	f.watch()
	for f.kills < f.minKills {
		f.round()
		f.offset += pastEverything
	}
	flowing := len(f.provider.log())
	for range 5 {
		if err := f.start("tickdrain").Wait(); err != nil {
			t.Fatal(err)
		}
		f.offset += pastEverything
	}
	t.Logf("%s: %d kills, %d calls before the last kill, %d in all, %d answers", d.Name, f.kills, flowing, len(f.provider.log()), len(f.answered))
	f.checkLinks()
	f.checkResults()
	f.checkWatch()
}

// with opens the database in this process.
func (f *fleet) with(do func(context.Context, *survey.Service, DB) error) {
	f.t.Helper()
	f.on(func(ctx context.Context, h *Host) error { return do(ctx, surveys(h.Store, f.provider.URL), h) })
}

const definition = `{
	"questions": [{"id": "rate", "type": "rating", "min": 1, "max": 10, "required": true}],
	"triggers": [{
		"id": "visit", "enabled": true, "eventKind": "visit",
		"dedupRecipe": ["templateId", "recipient.address", "candidate.wip"],
		"schedule": {"initialDelay": "0d", "reminders": ["1h"]}, "channel": "email:chaos"
	}]
}`

// offer makes the links.
func (f *fleet) offer() {
	f.with(func(ctx context.Context, s *survey.Service, _ DB) error {
		if _, err := s.Publish(ctx, survey.Version{SurveyID: 1, Name: "Visit", IntegrationID: "visit", Definition: json.RawMessage(definition)}); err != nil {
			return err
		}
		for first := 0; first < f.links(); first += 500 {
			b := survey.Batch{EventKind: "visit"}
			for n := first; n < first+500; n++ {
				b.Items = append(b.Items, survey.Item{
					Payload:   json.RawMessage(fmt.Sprintf(`{"wip":"%d"}`, n)),
					Recipient: survey.Recipient{Address: fmt.Sprintf("c%05d@example.com", n), Locale: "en"},
				})
			}
			if got, err := s.Ingest(ctx, b); err != nil || got.Failed > 0 {
				return fmt.Errorf("%+v: %w", got, err)
			}
		}
		return nil
	})
}

// watch has the database itself note each call that begins for a link that has
// ended.
func (f *fleet) watch() {
	const when = `OLD.status IN ('Completed', 'Expired') AND NEW.call_started_on IS NOT NULL
		AND (OLD.call_started_on IS NULL OR NEW.call_started_on <> OLD.call_started_on)`
	statements := []string{
		`CREATE TABLE chaos_ended (id bigint)`,
		`CREATE FUNCTION chaos_note() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN INSERT INTO chaos_ended VALUES (NEW.id); RETURN NEW; END'`,
		`CREATE TRIGGER chaos_note AFTER UPDATE ON survey_instance FOR EACH ROW WHEN (` + when + `) EXECUTE FUNCTION chaos_note()`,
	}
	if f.driver.SQLite {
		statements = []string{statements[0],
			`CREATE TRIGGER chaos_note AFTER UPDATE ON survey_instance WHEN ` + when + ` BEGIN INSERT INTO chaos_ended VALUES (NEW.id); END`}
	}
	f.with(func(ctx context.Context, _ *survey.Service, db DB) error {
		for _, statement := range statements {
			if err := db.Exec(ctx, statement); err != nil {
				return err
			}
		}
		return nil
	})
}

// round has four tickers work, customers answer, and kills one after the other.
func (f *fleet) round() {
	workers := make([]*exec.Cmd, tickers)
	for i := range workers {
		workers[i] = f.start("tick")
	}
	for _, w := range workers {
		f.wait()
		f.answer()
		if err := w.Process.Kill(); err != nil { // SIGKILL
			f.t.Fatal(err)
		}
		_ = w.Wait()
		f.kills++
	}
}

// answer has a few of those who got a link respond.
func (f *fleet) answer() {
	calls := f.provider.log()
	if len(calls) == 0 {
		return
	}
	f.with(func(ctx context.Context, s *survey.Service, _ DB) error {
		for range 5 {
			url := calls[f.rnd.IntN(len(calls))].URL
			_, token, _ := strings.Cut(url, "/s/")
			if f.answered[url] {
				continue
			}
			_, err := s.Submit(ctx, token, survey.Response{Answers: json.RawMessage(`{"rate": 9}`)})
			if err == nil {
				f.answered[url] = true
			} // else a sender was first: somebody who tries again will do
		}
		return nil
	})
}

// checkLinks compares the database with what the provider saw.
func (f *fleet) checkLinks() {
	if n := f.query("SELECT 'ended', count(*) FROM chaos_ended")["ended"]; n != 0 {
		f.t.Errorf("%d calls began for links that had ended", n)
	}
	byStatus := f.query("SELECT status, count(*) FROM survey_instance GROUP BY status")
	if byStatus["Completed"] != len(f.answered) || byStatus["Sent"] != f.links()-len(f.answered) {
		f.t.Errorf("at rest %v, %d answers", byStatus, len(f.answered))
	}
	if n := f.query("SELECT 'open', count(*) FROM survey_instance WHERE status = 'Sent' AND (next_send_on IS NOT NULL OR lease_expires_on IS NOT NULL OR call_started_on IS NOT NULL OR is_on_support_hold)")["open"]; n != 0 {
		f.t.Errorf("%d links are not at rest", n)
	}
	claims, sends := map[string]int{}, map[string]int{}
	for _, c := range f.provider.log() {
		claims[c.ID+"/"+strconv.Itoa(c.Attempt)]++
		sends[c.ID]++
	}
	double, twice := 0, 0
	for _, n := range claims {
		double += n - 1
	}
	for _, n := range sends {
		twice += n - 1
	}
	lost := 0
	for id := range f.query("SELECT public_id, 1 FROM survey_instance WHERE status = 'Sent'") {
		if sends[id] == 0 || sends[id+"-1"] == 0 {
			lost++
		}
	}
	if lost != 0 || double != 0 || twice != 0 {
		f.t.Errorf("lost %d, double calls of one claim %d, sends made twice %d", lost, double, twice)
	}
}

// checkResults compares what the killed tickers counted with what there is, and with a
// count from the responses.
func (f *fleet) checkResults() {
	f.with(func(ctx context.Context, s *survey.Service, _ DB) error {
		for _, when := range []string{"counted", "counted again"} {
			got, err := s.Results().Get(ctx, "", survey.ResultQuery{SurveyID: 1})
			if err != nil {
				return err
			}
			if len(got.Groups) != 1 || got.Groups[0].Asked != f.links() || got.Groups[0].Answered != len(f.answered) || got.Groups[0].Responses != len(f.answered) {
				f.t.Errorf("%s: %+v, want %d asked and %d answers", when, got.Groups, f.links(), len(f.answered))
			}
			if n, err := s.Results().Recount(ctx, "", 1); err != nil || n != len(f.answered) {
				return fmt.Errorf("a recount of %d: %w", n, err)
			}
		}
		return nil
	})
}

// checkWatch makes calls begin for links that have ended: had there been one, it
// would have been noted.
func (f *fleet) checkWatch() {
	f.with(func(ctx context.Context, _ *survey.Service, db DB) error {
		return db.Exec(ctx, "UPDATE survey_instance SET call_started_on = created_on WHERE status = 'Completed'")
	})
	if n := f.query("SELECT 'ended', count(*) FROM chaos_ended")["ended"]; n != len(f.answered) || n == 0 {
		f.t.Errorf("the database noted %d calls, want %d", n, len(f.answered))
	}
}
