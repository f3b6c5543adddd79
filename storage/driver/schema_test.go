package driver_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/belfry-go/belfry/storage/driver"
)

// visit has a column of every kind, and a field that is none.
type visit struct {
	driver.Due
	Place   string            `db:"place,fixed"`
	Note    string            `db:"note,null"`
	Guests  int               `db:"guests"`
	Rooms   int16             `db:"rooms,null"`
	Paid    bool              `db:"paid"`
	LeftOn  time.Time         `db:"left_on"`
	Wishes  map[string]string `db:"wishes,json,null"`
	Meals   []string          `db:"meals,json"`
	Form    json.RawMessage   `db:"form,json,null"`
	Picture []byte            `db:"picture"`
	Stamp   []byte            `db:"stamp,null"`
	Scratch string
}

func visits() *driver.Table[visit] { return driver.Define[visit]("visit") }

func TestDefineMakesColumnsFromTags(t *testing.T) {
	t.Parallel()
	var got []string
	for _, c := range visits().Columns {
		got = append(got, fmt.Sprintf("%s %d %t %t", c.Name, c.Type, c.Fixed, c.Null))
	}
	want := []string{
		"id 1 true false", "scope 0 true false", "key 0 true false", "kind 0 false false", "status 0 false false",
		"version 1 false false", "lane 1 true false", "due_on 3 false true", "lease_expires_on 3 false true",
		"claim_token 0 false false", "abandoned 2 false false",
		"place 0 true false", "note 0 false true", "guests 1 false false", "rooms 1 false true", "paid 2 false false",
		"left_on 3 false true", "wishes 4 false true", "meals 4 false false", "form 4 false true",
		"picture 5 false false", "stamp 5 false true",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("columns (-want +got):\n%s", diff)
	}
}

func TestDefinePanicsOnAFieldWithoutAKind(t *testing.T) {
	t.Parallel()
	type price struct {
		driver.Record
		Amount float64 `db:"amount"`
	}
	panics(t, "storage: price.amount: no column kind for float64", func() { driver.Define[price]("price") })
	type tagged struct {
		driver.Record
		Tags []string `db:"tags"`
	}
	panics(t, "storage: tagged.tags: no column kind for []string", func() { driver.Define[tagged]("tagged") })
}

func TestColumnPanicsOnAnUnknownName(t *testing.T) {
	t.Parallel()
	table := visits()
	panics(t, `storage: table visit has no column "colour"`, func() { table.Column("colour") })
	if got := table.Column("guests").Type; got != driver.Int {
		t.Errorf("kind is %d", got)
	}
}

func TestSchemasAreThoseOfEveryStore(t *testing.T) {
	t.Parallel()
	var names []string
	for _, s := range driver.Schemas() {
		names = append(names, s.Name)
	}
	if diff := cmp.Diff([]string{"blob", "blob_chunk", "blob_owner", "store_identity"}, names); diff != "" {
		t.Errorf("names (-want +got):\n%s", diff)
	}
}

// panics fails the test unless f panics with a message that has want in it.
func panics(t *testing.T, want string, f func()) {
	t.Helper()
	defer func() {
		t.Helper()
		if got := fmt.Sprint(recover()); !strings.Contains(got, want) {
			t.Errorf("panic is %q, want %q", got, want)
		}
	}()
	f()
}

// origin has fields of the same names as Record.
type origin struct {
	Scope string `db:"origin_scope"`
	Type  string `db:"origin_type"`
}

// Go lets neither of two promoted fields of one name be seen, nor one behind a
// field of the struct itself: their columns would be lost.
func TestDefinePanicsOnAColumnThatWouldBeLost(t *testing.T) {
	t.Parallel()
	type beside struct {
		driver.Record
		origin
	}
	panics(t, "storage: beside.scope: the field Record.Scope is hidden", func() { driver.Define[beside]("beside") })
	type before struct {
		driver.Record
		Status string `db:"own_status"`
	}
	panics(t, "storage: before.status: the field Record.Status is hidden", func() { driver.Define[before]("before") })
	type twice struct {
		driver.Record
		Note string `db:"note"`
		More string `db:"note"`
	}
	panics(t, "storage: twice.note: the column of two fields, Note and More", func() { driver.Define[twice]("twice") })
	type again struct {
		driver.Record
		Type string `db:"kind"`
	}
	panics(t, "storage: again.kind: the column of two fields, Record.Kind and Type", func() { driver.Define[again]("again") })
}
