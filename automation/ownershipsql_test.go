package automation_test

import (
	"database/sql"
	"encoding/json"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/benbjohnson/clock"

	"github.com/belfry-go/belfry/automation"
	"github.com/belfry-go/belfry/automation/cutover"
	"github.com/belfry-go/belfry/internal/pgtest"
	"github.com/belfry-go/belfry/internal/testlevel"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/postgres"
	"github.com/belfry-go/belfry/storage/sqlite"
)

var sqlBlock = regexp.MustCompile("(?s)```sql\n-- (\\w+): .*?\n(.*?)```")

// published are the statements that the documentation gives to old schedulers, by
// their names.
func published(t *testing.T) map[string]string {
	t.Helper()
	page, err := os.ReadFile("../docs/migrating.md")
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for _, block := range sqlBlock.FindAllStringSubmatch(string(page), -1) {
		out[block[1]] = block[2]
	}
	for _, name := range []string{"guard", "read", "overdue"} {
		if out[name] == "" {
			t.Fatalf("the page has no statement %q", name)
		}
	}
	return out
}

// other is an old scheduler in another language: it runs a statement in a
// transaction of its own and gets the first columns of the rows.
type other func(statement string, key string, now time.Time) []string

// playOld is the story of an old scheduler that knows nothing but the published
// SQL.
func playOld(t *testing.T, w *world, old other) {
	t.Helper()
	statements := published(t)
	run := func(name, key string) string { return strings.Join(old(statements[name], key, w.clk.Now()), " ") }
	expect := func(what, got, want string) {
		t.Helper()
		if got != want {
			t.Errorf("%s: %q, want %q", what, got, want)
		}
	}
	w.guardCertificates(nil)
	w.ensure(ofEmployees("1234")...)
	one, two, three, nine := employeeKey("1"), employeeKey("2"), employeeKey("3"), employeeKey("9")
	expect("delivers it", run("guard", one), one)
	expect("delivers it again", run("guard", one), "")
	expect("delivers a run that nobody knows", run("guard", nine), nine)
	w.owned(one, cutover.OldScheduler, cutover.DeliveryCreated)
	w.owned(nine, cutover.OldScheduler, cutover.DeliveryCreated)
	if got, err := w.s.Rollout().Ownership(w.ctx, "", one); err != nil || string(got.Coordinates) != `{"mail":"m-1"}` || !got.OldRanOn.Equal(start) {
		t.Errorf("%+v %v", got, err)
	}
	w.to(certificatesPart, cutover.StageScheduled)
	expect("delivers what is taken from it", run("guard", two), "")
	w.pollAt(whenDue.Add(2 * time.Minute))
	w.owned(two, cutover.AutomationScheduler, cutover.DeliveryCreated)
	expect("delivers what is delivered", run("guard", two), "")
	expect("nothing is overdue", run("overdue", ""), "")
	w.to(certificatesPart, cutover.StageShadow)
	w.clk.Add(time.Hour)
	expect("a run is overdue", run("overdue", ""), employeeKey("4"))
	expect("delivers what was returned", run("guard", employeeKey("4")), employeeKey("4"))
	expect("reads who has it", run("read", two), "AutomationScheduler")
	if got := w.out.dispatched(); !slices.Equal(got, []string{two, three}) {
		t.Errorf("dispatched here: %v", got)
	}
	// What only the published SQL knows is seen by a comparison.
	got, err := w.s.Rollout().Compare(w.ctx, certificatesPart, cutover.Window{From: start}, 60*24*time.Hour)
	if err != nil || got.OnlyThere != 1 || got.Both != 2 || got.OnlyHere != 2 {
		t.Errorf("%+v %v", got, err)
	}
	narrow := cutover.Part{Type: certificatesPart.Type, Source: "9"}
	got, err = w.s.Rollout().Compare(w.ctx, narrow, cutover.Window{From: start}, 60*24*time.Hour)
	if err != nil || got.OnlyThere != 1 || got.Both+got.OnlyHere != 0 {
		t.Errorf("of one source: %+v %v", got, err)
	}
}

// The account of the old scheduler may do no more than the page says.
func TestThePublishedSQLGuardsAnOldSchedulerInPsql(t *testing.T) {
	t.Parallel()
	testlevel.Need(t, testlevel.Check)
	clk := clock.NewMock()
	clk.Set(start)
	dsn := pgtest.DSN(t)
	store, err := postgres.Open(t.Context(), dsn, &postgres.Options{Clock: clk})
	if err != nil {
		t.Fatal(err)
	}
	defer closing(t, store)
	w := newWorld(t, store, clk, nil)
	role := "old_" + strings.ToLower(regexp.MustCompile(`\W`).ReplaceAllString(time.Duration(clk.Now().UnixNano()).String()+pgtest.PSQL(t, dsn, "SELECT current_database()"), "_"))
	pgtest.PSQL(t, dsn, "CREATE ROLE "+role+"; GRANT SELECT, INSERT, UPDATE ON report_run_ownership TO "+role)
	playOld(t, w, func(statement, key string, now time.Time) []string {
		out := pgtest.PSQL(t, dsn, "SET ROLE "+role+"; BEGIN;\n"+strings.TrimSuffix(strings.TrimSpace(statement), ";")+";\nCOMMIT;",
			"scope=''", "key='"+key+"'", "type='certificate'", "setting='certificate'", "unit=''",
			`coordinates='{"mail":"m-1"}'`, "now='"+now.UTC().Format(time.RFC3339Nano)+"'")
		var rows []string
		for line := range strings.Lines(out) {
			first, _, _ := strings.Cut(strings.TrimSpace(line), "|")
			if !slices.Contains([]string{"SET", "BEGIN", "COMMIT", "INSERT 0 0", "INSERT 0 1", ""}, first) {
				rows = append(rows, first)
			}
		}
		return rows
	})
	pgtest.PSQL(t, dsn, "REVOKE ALL ON report_run_ownership FROM "+role+"; DROP ROLE "+role)
}

func TestThePublishedSQLGuardsAnOldSchedulerOnSQLite(t *testing.T) {
	t.Parallel()
	clk := clock.NewMock()
	clk.Set(start)
	store, err := sqlite.Open(t.Context(), t.TempDir()+"/belfry.db", &sqlite.Options{Clock: clk})
	if err != nil {
		t.Fatal(err)
	}
	defer closing(t, store)
	w := newWorld(t, store, clk, nil)
	playOld(t, w, func(statement, key string, now time.Time) (out []string) {
		var args []any
		for name, value := range map[string]any{
			"scope": "", "key": key, "type": "certificate", "setting": "certificate", "unit": "",
			"coordinates": `{"mail":"m-1"}`, "now": now.UnixMicro(),
		} {
			if strings.Contains(statement, ":"+name) {
				args = append(args, sql.Named(name, value))
			}
		}
		rows, err := store.DB().QueryContext(t.Context(), statement, args...)
		if err != nil {
			t.Fatal(err)
		}
		defer rows.Close()
		columns, _ := rows.Columns()
		for rows.Next() {
			into := make([]any, len(columns))
			for i := range into {
				into[i] = new(any)
			}
			if err := rows.Scan(into...); err != nil {
				t.Fatal(err)
			}
			out = append(out, (*into[0].(*any)).(string))
		}
		if err := rows.Err(); err != nil {
			t.Fatal(err)
		}
		return out
	})
}

func closing(t *testing.T, store interface {
	storage.Store
	Close() error
}) {
	if err := store.Close(); err != nil {
		t.Error(err)
	}
}

// certificatesPart is all work of the type in the empty scope.
var certificatesPart = cutover.Part{Type: "certificate"}

// guardCertificates registers the type under the guard.
func (w *world) guardCertificates(change func(*automation.ReminderType)) {
	w.s.Register(certificates(func(t *automation.ReminderType) {
		t.Guarded = true
		if change != nil {
			change(t)
		}
	}))
}

// to moves a part to a stage, forward step by step.
func (w *world) to(part cutover.Part, stage cutover.Stage) (last cutover.Move) {
	w.t.Helper()
	now, err := w.s.Rollout().MoveRollout(w.ctx, part, cutover.StageDesign, ann, &automation.ActionOptions{DryRun: true})
	for next := min(now.From+1, stage); err == nil && next <= stage; next++ {
		last, err = w.s.Rollout().MoveRollout(w.ctx, part, next, ann, nil)
	}
	if err != nil {
		w.t.Fatal(err)
	}
	return last
}

// owner is who owns a run, and how far it has come.
func (w *world) owner(key string) string {
	w.t.Helper()
	o, err := w.s.Rollout().Ownership(w.ctx, "", key)
	if err != nil {
		return err.Error()
	}
	return string(o.Owner) + " " + o.Status
}

func (w *world) owned(key string, want cutover.Owner, status string) {
	w.t.Helper()
	if got := w.owner(key); got != string(want)+" "+status {
		w.t.Errorf("%s: %s, want %s %s", key, got, want, status)
	}
}

// old is what the guard answers to the old scheduler when it delivers.
func (w *world) old(key, coordinates string) bool {
	w.t.Helper()
	got, err := w.s.Rollout().DeliverForOldScheduler(w.ctx, "", cutover.OldRun{Key: key, Coordinates: json.RawMessage(coordinates)})
	if err != nil {
		w.t.Fatal(err)
	}
	return got[0].Granted
}

func (w *world) is(key, want string) {
	w.t.Helper()
	if got := w.statuses()[key]; got != want {
		w.t.Errorf("%s is %q, want %q", key, got, want)
	}
}

// setOwnership writes a row of the guard as a test wants to find it.
func (w *world) setOwnership(key string, f func(*automation.OwnershipRow)) {
	w.t.Helper()
	err := w.store.InTx(w.ctx, func(tx storage.Tx) error {
		o, err := automation.Ownerships.Get(w.ctx, tx, "", key)
		if err != nil {
			return err
		}
		f(o)
		return automation.Ownerships.Save(w.ctx, tx, o)
	})
	if err != nil {
		w.t.Fatal(err)
	}
}

// setStage writes a stage and moves nothing, like a move that was cut off.
func (w *world) setStage(part cutover.Part, stage cutover.Stage) {
	w.t.Helper()
	err := w.store.InTx(w.ctx, func(tx storage.Tx) error {
		return automation.InsertMoving(w.ctx, tx, part, stage)
	})
	if err != nil {
		w.t.Fatal(err)
	}
}

// whenDue is the moment of certificateKey.
var whenDue = time.Date(2026, 4, 1, 9, 0, 0, 0, time.UTC)
