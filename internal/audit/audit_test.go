package audit_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/benbjohnson/clock"
	"github.com/google/go-cmp/cmp"

	"github.com/belfry-go/belfry/internal/audit"
	"github.com/belfry-go/belfry/internal/storetest"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/driver"
	"github.com/belfry-go/belfry/storage/memory"
)

func entry(key string, version int64, action string) *audit.Entry {
	return &audit.Entry{
		Record: storage.Record{Scope: "north"}, Subject: "automation_scheduler", SubjectKey: key, SubjectVersion: version,
		Action: action, Actor: "sam", Reason: "a call", From: "Pending", To: "Cancelled",
		On: time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC),
	}
}

func TestAHistoryIsOfOneRowInTheOrderOfItsVersions(t *testing.T) {
	t.Parallel()
	ctx, store := context.Background(), memory.New(nil)
	var got []string
	err := store.InTx(ctx, func(tx storage.Tx) error {
		err := audit.Write(ctx, tx,
			entry("host:a:b:1:x", 10, "Release"), entry("host:a:b:1:x", 9, "Hold"),
			entry("host:a:b:1:xy", 3, "Retry"), entry("host:a:b:1", 4, "Cancel"),
			entry("host:a:b:1:x\x1f0", 9, "Hold"))
		if err != nil {
			return err
		}
		history, err := audit.History(ctx, tx, "north", "automation_scheduler", "host:a:b:1:x", 10)
		for _, e := range history {
			got = append(got, e.Action)
		}
		return err
	})
	if diff := cmp.Diff([]string{"Hold", "Release"}, got); err != nil || diff != "" {
		t.Errorf("%v: %s", err, diff)
	}
}

func TestAShortHistoryIsTheEndOfIt(t *testing.T) {
	t.Parallel()
	ctx, store := context.Background(), memory.New(nil)
	err := store.InTx(ctx, func(tx storage.Tx) error {
		if err := audit.Write(ctx, tx, entry("k", 2, "Hold"), entry("k", 3, "Release"), entry("k", 9, "Cancel")); err != nil {
			return err
		}
		history, err := audit.History(ctx, tx, "north", "automation_scheduler", "k", 2)
		if len(history) != 2 || history[0].Action != "Release" || history[1].Action != "Cancel" {
			t.Errorf("%+v", history)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

// Whoever reads what was done last reads who did it and why, of rows that they do not name.
func TestTheListOfWhatWasDoneSaysWhoAndWhy(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, store storage.Store, _ *clock.Mock) {
		ctx := t.Context()
		again, other, program := entry("a", 3, "Release"), entry("b", 2, "Cancel"), entry("c", 4, "TryFailed")
		again.Reason, other.Actor, program.Actor, program.Reason, program.ByProgram = "another call", "kim", "due pass", "HandlerFailed", true
		var told []string
		err := store.InTx(ctx, func(tx storage.Tx) error {
			if err := audit.Write(ctx, tx, entry("a", 2, "Hold")); err != nil {
				return err
			}
			if err := audit.Write(ctx, tx, again, other, program); err != nil {
				return err
			}
			newest, _, err := audit.Newest(ctx, tx, "north", storage.Page{})
			for _, e := range newest {
				told = append(told, e.Action+" "+e.Actor+": "+e.Reason)
			}
			return err
		})
		slices.Sort(told) // those of one call have no order
		want := []string{"Cancel kim: a call", "Hold sam: a call", "Release sam: another call", "TryFailed due pass: HandlerFailed"}
		if diff := cmp.Diff(want, told); err != nil || diff != "" {
			t.Errorf("%v: %s", err, diff)
		}
	})
}

// A row was deleted and made again: its versions begin anew, its story goes on.
func TestARowThatIsMadeAgainHasItsEntriesBehindTheOldOnes(t *testing.T) {
	t.Parallel()
	ctx, store := context.Background(), memory.New(nil)
	err := store.InTx(ctx, func(tx storage.Tx) error {
		first, second := entry("k", 2, "Hold"), entry("k", 2, "Cancel")
		first.SubjectID, second.SubjectID = 9, 10
		if err := audit.Write(ctx, tx, second, first); err != nil {
			return err
		}
		history, err := audit.History(ctx, tx, "north", "automation_scheduler", "k", 10)
		if len(history) != 2 || history[0].Action != "Hold" || history[1].Action != "Cancel" {
			t.Errorf("%+v", history)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

func TestWhoMadeARowIsToldOnce(t *testing.T) {
	t.Parallel()
	ctx, store := context.Background(), memory.New(nil)
	err := store.InTx(ctx, func(tx storage.Tx) error {
		if err := audit.Write(ctx, tx, entry("k", audit.FirstVersion, "Created"), entry("k", 2, "Hold")); err != nil {
			return err
		}
		if err := audit.Write(ctx, tx, entry("k", audit.FirstVersion, "Created by another"), entry("k", 3, "Cancel")); err != nil {
			return err
		}
		history, err := audit.History(ctx, tx, "north", "automation_scheduler", "k", 10)
		if len(history) != 3 || history[0].Action != "Created" {
			t.Errorf("%+v", history)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

func TestAVersionHasOneEntry(t *testing.T) {
	t.Parallel()
	ctx, store := context.Background(), memory.New(nil)
	err := store.InTx(ctx, func(tx storage.Tx) error {
		return audit.Write(ctx, tx, entry("k", 2, "Hold"), entry("k", 2, "Cancel"))
	})
	if err == nil || !strings.Contains(err.Error(), "version 2 of automation_scheduler has an entry already") {
		t.Error(err)
	}
}

func TestByNamesWhatIsMissing(t *testing.T) {
	t.Parallel()
	for want, by := range map[string]audit.By{
		"no actor is given":                            {Reason: "r"},
		"no reason is given":                           {Actor: "a"},
		"audit: no actor is given; no reason is given": {},
		"the actor is not valid UTF-8":                 {Actor: "\xff", Reason: "r"},
		"the reason has 1001 bytes, more than 1000":    {Actor: "a", Reason: strings.Repeat("r", 1001)},
	} {
		if err := by.Check(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want %q", by, err, want)
		}
	}
	if err := (audit.By{Actor: "a", Reason: "r"}).Check(); err != nil {
		t.Error(err)
	}
}

// parcel has a column that nobody changes in passing.
type parcel struct {
	storage.Record
	Unit string `db:"unit,fixed"`
}

// A fixed column is rewritten with the reason beside it, or not at all.
func TestARewriteIsAudited(t *testing.T) {
	t.Parallel()
	ctx, store := context.Background(), memory.New(nil)
	parcels := driver.Define[parcel]("parcel")
	moves := parcels.Rewriting("unit")
	err := store.InTx(ctx, func(tx storage.Tx) error {
		row := &parcel{Record: storage.Record{Scope: "north", Key: "a", Status: "Ready"}, Unit: "dublin"}
		if _, err := parcels.Insert(ctx, tx, row); err != nil {
			return err
		}
		row.Unit = "cork"
		if err := audit.Rewrite(ctx, tx, moves, "Move", audit.By{Actor: "sam"}, row); err == nil || row.Version != 1 {
			t.Errorf("without a reason: version %d, %v", row.Version, err)
		}
		if err := audit.Rewrite(ctx, tx, moves, "Move", audit.By{Actor: "sam", Reason: "they moved"}, row); err != nil {
			return err
		}
		stored, err := parcels.Get(ctx, tx, "north", "a")
		if err != nil || stored.Unit != "cork" {
			t.Errorf("%+v, %v", stored, err)
		}
		history, err := audit.History(ctx, tx, "north", "parcel", "a", 10)
		if len(history) != 1 || history[0].Action != "Move" || history[0].SubjectVersion != 2 || history[0].Reason != "they moved" {
			t.Errorf("%+v", history)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
	defer func() {
		if recover() == nil {
			t.Error("a key can be rewritten")
		}
	}()
	parcels.Rewriting("key")
}
