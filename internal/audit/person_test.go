package audit_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/benbjohnson/clock"
	"github.com/google/go-cmp/cmp"

	"github.com/belfry-go/belfry/internal/audit"
	"github.com/belfry-go/belfry/internal/storetest"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/driver"
)

// canary is in all that is personal.
const canary = "zinnober"

// log is an audit in a store.
type log struct {
	t     *testing.T
	store storage.Store
}

func eachLog(t *testing.T, test func(l log)) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, store storage.Store, _ *clock.Mock) { test(log{t, store}) })
}

func (l log) tx(f func(ctx context.Context, tx storage.Tx) error) {
	l.t.Helper()
	ctx := l.t.Context()
	if err := l.store.InTx(ctx, func(tx storage.Tx) error { return f(ctx, tx) }); err != nil {
		l.t.Fatal(err)
	}
}

func (l log) write(entries ...*audit.Entry) {
	l.t.Helper()
	l.tx(func(ctx context.Context, tx storage.Tx) error { return audit.Write(ctx, tx, entries...) })
}

func (l log) forget(keys ...string) (some bool) {
	l.t.Helper()
	l.tx(func(ctx context.Context, tx storage.Tx) (err error) {
		some, err = audit.Forget(ctx, tx, "north", "outgoing_message", keys...)
		return err
	})
	return some
}

func (l log) history(key string) []string {
	l.t.Helper()
	out := []string{}
	l.tx(func(ctx context.Context, tx storage.Tx) error {
		entries, err := audit.History(ctx, tx, "north", "outgoing_message", key, 10)
		out = out[:0]
		for _, e := range entries {
			if e.SubjectKey != key {
				l.t.Errorf("an entry of %q in the history of %q", e.SubjectKey, key)
			}
			out = append(out, fmt.Sprintf("%s by %s: %s", e.Action, e.Actor, e.Reason))
		}
		return err
	})
	return out
}

// stored are all columns of all rows of a table.
func (l log) stored(s *driver.Schema) string {
	l.t.Helper()
	var out strings.Builder
	l.tx(func(ctx context.Context, tx storage.Tx) error {
		out.Reset()
		rows, err := tx.Select(ctx, s, driver.Everywhere(), driver.Query{Limit: 10_000})
		for _, r := range rows {
			for i := range s.Columns {
				v, err := s.Columns[i].Value(r)
				if err != nil {
					return err
				}
				text, err := json.Marshal(v)
				if err != nil {
					return err
				}
				fmt.Fprintf(&out, "%s=%s ", s.Columns[i].Name, text)
			}
			out.WriteString("\n")
		}
		return err
	})
	return out.String()
}

// deed is what canary's did to a message of canary's.
func deed(key string, version int64) *audit.Entry {
	e := entry(key, version, "Hold")
	e.Subject, e.Actor, e.Reason, e.SubjectID = "outgoing_message", canary+"-kim", canary+" rang us up", 7
	return e
}

func byProgram(key string, version int64) *audit.Entry {
	e := deed(key, version)
	e.ByProgram, e.Actor, e.Reason, e.Action = true, "due pass", "NoRecipients", "Deactivated"
	return e
}

func TestAnEntryHoldsNothingPersonal(t *testing.T) {
	eachLog(t, func(l log) {
		key := "job\x1f" + canary + "@example.com"
		l.write(deed(key, 2), byProgram(key, 3))
		if got := l.stored(&audit.Table.Schema); strings.Contains(got, canary) || !strings.Contains(got, "due pass") {
			l.t.Error(got)
		}
		want := []string{"Hold by zinnober-kim: zinnober rang us up", "Deactivated by due pass: NoRecipients"}
		if diff := cmp.Diff(want, l.history(key)); diff != "" {
			l.t.Error(diff)
		}
	})
}

// The entries of a person who was erased stay as they are, byte for byte, and can be
// tied to nobody; those of others are as they were.
func TestErasureLeavesTheEntries(t *testing.T) {
	eachLog(t, func(l log) {
		mine, other := "job\x1f"+canary, "job\x1fother"
		l.write(deed(mine, 2), deed(mine, 3), byProgram(mine, 4))
		e := deed(other, 2)
		e.Actor, e.Reason = "ali", "a call"
		l.write(e)
		before := l.stored(&audit.Table.Schema)
		if some, again := l.forget(mine), l.forget(mine); !some || again {
			l.t.Errorf("there was something: %v, and again: %v", some, again)
		}
		if diff := cmp.Diff(before, l.stored(&audit.Table.Schema)); diff != "" {
			l.t.Error(diff)
		}
		if got := l.history(mine); len(got) != 0 {
			l.t.Error(got)
		}
		l.tx(func(ctx context.Context, tx storage.Tx) error {
			return audit.ForgetActor(ctx, tx, "north", canary+"-kim")
		})
		if got := l.stored(&audit.People.Schema); strings.Contains(got, canary) {
			l.t.Error(got)
		}
		if diff := cmp.Diff([]string{"Hold by ali: a call"}, l.history(other)); diff != "" {
			l.t.Error(diff)
		}
		l.write(byProgram(mine, 5)) // another story
		if diff := cmp.Diff([]string{"Deactivated by due pass: NoRecipients"}, l.history(mine)); diff != "" {
			l.t.Error(diff)
		}
	})
}

func TestAnActorIsErasedAndTheDeedsStay(t *testing.T) {
	eachLog(t, func(l log) {
		l.write(deed("a", 2))
		l.tx(func(ctx context.Context, tx storage.Tx) error {
			return audit.ForgetActor(ctx, tx, "north", canary+"-kim")
		})
		l.write(deed("a", 3))
		want := []string{"Hold by : zinnober rang us up", "Hold by zinnober-kim: zinnober rang us up"}
		if diff := cmp.Diff(want, l.history("a")); diff != "" {
			l.t.Error(diff)
		}
	})
}

// A person about whom much was said is erased page by page, each in its transaction.
func TestErasureGoesPageByPage(t *testing.T) {
	eachLog(t, func(l log) {
		var all []*audit.Entry
		for version := range int64(500) {
			all = append(all, deed("a", version+2))
		}
		l.write(append(all, deed("b", 2))...)
		calls := 1
		for l.forget("a", "b") {
			calls++
		}
		if got := l.stored(&audit.People.Schema); calls != 3 || strings.Count(got, "\n") != 1 { // the actor
			l.t.Errorf("%d calls leave %s", calls, got)
		}
	})
}

// A key that goes on where another ends has a story of its own.
func TestOnlyTheRowsOfAKeyAreErased(t *testing.T) {
	eachLog(t, func(l log) {
		longer := "a\x1f" + strings.Repeat("0", 19)
		l.write(deed("a", 2), deed(longer, 2))
		l.forget("a")
		if got := l.history(longer); len(got) != 1 {
			l.t.Error(got)
		}
	})
}

// Of two who name a row at the same time one takes the other's pseudonym.
func TestARowHasOnePseudonym(t *testing.T) {
	eachLog(t, func(l log) {
		spy, raced := &storetest.Spy{Store: l.store}, false
		spy.SetHook(func(c storetest.Call) error {
			if c.Verb != storetest.Insert || c.Table != audit.People.Name || raced {
				return nil
			}
			raced = true
			return audit.Write(l.t.Context(), c.Tx, deed("a", 2))
		})
		l.store = spy
		l.write(deed("a", 3))
		if got := l.history("a"); len(got) != 2 || !raced {
			l.t.Error(got)
		}
	})
}
