package postgres

import (
	"context"
	"database/sql"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/benbjohnson/clock"

	"github.com/belfry-go/belfry"
	"github.com/belfry-go/belfry/internal/audit"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/notify/notifytest"
	"github.com/belfry-go/belfry/storage/driver"
)

// documentedRoles is the SQL of docs/deploying.md.
func documentedRoles(t *testing.T) string {
	t.Helper()
	page, err := os.ReadFile("../../docs/deploying.md")
	if err != nil {
		t.Fatal(err)
	}
	_, after, _ := strings.Cut(string(page), "<!-- roles -->\n```sql\n")
	text, _, found := strings.Cut(after, "```")
	if !found {
		t.Fatal("the page has no roles")
	}
	return text
}

// asRole is the dsn of another user.
func asRole(t *testing.T, dsn, role string) string {
	t.Helper()
	u, err := url.Parse(dsn)
	if err != nil {
		t.Fatal(err)
	}
	u.User = url.User(role)
	return u.String()
}

// With the grants that are documented a host works, its support acts and people are
// erased, and nobody but the keeper takes an entry of the audit away; nobody changes one.
func TestTheAuditIsAppendOnlyByRole(t *testing.T) {
	t.Parallel()
	ctx, dsn := t.Context(), ownServer(t, nil).Database(t)
	clk := clock.NewMock()
	clk.Set(noon)
	open := func(role string) *Store {
		s, err := Open(ctx, asRole(t, dsn, role), &Options{Clock: clk, Schema: "belfry", MaxOpenConns: 3})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		})
		return s
	}
	exec(t, open("postgres").DB(), documentedRoles(t))
	app, keeper := open("belfry_app"), open("belfry_keeper")

	out := sender(app)
	poller := belfry.NewPoller(app, nil, out)
	made, err := out.Notify(ctx, notify.Job{Type: "welcome", PartitionKey: "1", RowKey: "1", Recipients: []notify.Recipient{
		{Ref: "sam", Channel: "email:test", Address: "sam@example.com"}}})
	if err != nil {
		t.Fatal(err)
	}
	if err := out.Support().Cancel(ctx, "", notify.ArtifactNotificationJob, made.Key, notify.By{Actor: "kim", Reason: "a test"}); err != nil {
		t.Fatal(err)
	}
	if err := poller.Drain(ctx); err != nil {
		t.Error(err)
	}
	for role, s := range map[string]*Store{"app": app, "keeper": keeper} {
		for _, change := range []string{"UPDATE belfry.audit_entry SET action = ''", "UPDATE belfry.audit_person SET text = 'ali'", "TRUNCATE belfry.audit_entry"} {
			denied(ctx, t, s.DB(), role, change)
		}
	}
	denied(ctx, t, app.DB(), "app", "DELETE FROM belfry.audit_entry")

	err = app.InTx(ctx, func(tx driver.Tx) error { return audit.ForgetActor(ctx, tx, "", "kim") })
	if err != nil {
		t.Error("erasure:", err)
	}
	keep := belfry.NewPoller(keeper, &belfry.Options{Retention: belfry.Retention{Audit: 24 * time.Hour}}, sender(keeper))
	for range 12 {
		clk.Add(24 * time.Hour)
		if err := keep.Drain(ctx); err != nil {
			t.Fatal(err)
		}
	}
	for _, table := range []string{"audit_entry", "audit_person"} {
		if n := scan[int](t, keeper.DB(), "SELECT count(*) FROM belfry."+table); n != 0 {
			t.Errorf("%d rows of %s are left", n, table)
		}
	}
}

// A role without rights is told which it needs, to make the tables and to use them.
func TestARoleThatLacksAGrantIsToldWhich(t *testing.T) {
	t.Parallel()
	ctx, dsn := t.Context(), ownServer(t, nil).Database(t)
	opened := func(role string) error {
		s, err := Open(ctx, asRole(t, dsn, role), &Options{Schema: "belfry", MaxOpenConns: 3})
		if s != nil {
			t.Cleanup(func() { _ = s.Close() })
		}
		return err
	}
	owner, err := Open(ctx, dsn, &Options{Schema: "another"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = owner.Close() })
	exec(t, owner.DB(), "CREATE ROLE stranger LOGIN")
	lacks := func(grant string) {
		t.Helper()
		if err := opened("stranger"); err == nil || !strings.Contains(err.Error(), grant) {
			t.Error(err)
		}
	}
	lacks("GRANT CREATE ON DATABASE")
	if err := opened("postgres"); err != nil {
		t.Fatal(err)
	}
	lacks("GRANT USAGE ON SCHEMA belfry TO stranger")
	exec(t, owner.DB(), "GRANT USAGE ON SCHEMA belfry TO stranger")
	lacks("GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA belfry TO stranger")
}

func sender(s *Store) *notify.Notifier {
	out := notify.New(s, nil, notifytest.NewRecorder())
	out.Register(notify.Type{Name: "welcome", Renderer: notify.Template{Subject: "Welcome"}})
	return out
}

func denied(ctx context.Context, t *testing.T, db *sql.DB, role, change string) {
	t.Helper()
	if _, err := db.ExecContext(ctx, change); err == nil || !strings.Contains(err.Error(), "permission denied") {
		t.Errorf("as %s, %s: %v", role, change, err)
	}
}
