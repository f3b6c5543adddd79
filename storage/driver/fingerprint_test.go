package driver_test

import (
	"testing"
	"time"

	"github.com/belfry-go/belfry/storage/driver"
	"github.com/belfry-go/belfry/storage/memory"
)

// sealed has a deciding column of every kind.
type sealed struct {
	driver.Record
	Place string    `db:"place"`
	Room  string    `db:"room,null"`
	Beds  int       `db:"beds"`
	Paid  bool      `db:"paid"`
	On    time.Time `db:"left_on"`
	Meals []string  `db:"meals,json,null"`
	Stamp []byte    `db:"stamp,null"`
	Other string    `db:"other"`
	Print int64     `db:"print,fixed"`
}

func printOf(t *testing.T, r sealed) int64 {
	t.Helper()
	table := driver.Define[sealed]("sealed").Deciding("place", "room", "beds", "paid", "left_on", "meals", "stamp").Fingerprint("print")
	if r.Key == "" {
		r.Key = "k"
	}
	err := memory.New(nil).InTx(t.Context(), func(tx driver.Tx) error {
		_, err := table.Ensure(t.Context(), tx, func(_, _ *sealed) (driver.Outcome, bool) { return driver.Unchanged, false }, &r)
		if err != nil {
			return err
		}
		stored, err := table.Get(t.Context(), tx, r.Scope, r.Key)
		r.Print = stored.Print
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return r.Print
}

func TestFingerprintsTellRowsApart(t *testing.T) {
	t.Parallel()
	prints := map[int64]int{}
	rows := []sealed{
		{}, {Record: driver.Record{Scope: "s"}}, {Record: driver.Record{Key: "l"}},
		{Place: "ab", Room: "c"}, {Place: "a", Room: "bc"}, {Place: "abc"}, {Room: "abc"},
		{Place: "a\x01b", Room: "c"}, {Place: "a", Room: "b\x01c"},
		{Beds: 1}, {Beds: -1}, {Paid: true}, {On: noon}, {On: noon.Add(time.Microsecond)},
		{Meals: []string{}}, {Meals: []string{"a"}}, {Stamp: []byte{}}, {Stamp: []byte{0}},
	}
	for i, r := range rows {
		print := printOf(t, r)
		if before, taken := prints[print]; taken {
			t.Errorf("rows %d and %d have one fingerprint", before, i)
		}
		prints[print] = i
	}
}

func TestFingerprintsAreOfWhatDecidesAsItIsStored(t *testing.T) {
	t.Parallel()
	row := sealed{Place: "a", On: noon}
	other := sealed{Place: "a", On: noon.In(time.FixedZone("", 3600)).Add(999), Other: "decides nothing"}
	if printOf(t, row) != printOf(t, other) {
		t.Error("rows that are stored with the same deciding columns have two fingerprints")
	}
}

func TestFingerprintRefusesOtherColumns(t *testing.T) {
	t.Parallel()
	for what, define := range map[string]func(){
		"no deciding columns": func() { driver.Define[order]("o").Fingerprint("print") },
		"a text":              func() { driver.Define[order]("o").Deciding("guests").Fingerprint("note") },
		"one that changes":    func() { driver.Define[order]("o").Deciding("note").Fingerprint("guests") },
		"no column":           func() { driver.Define[order]("o").Deciding("note").Fingerprint("prints") },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: no panic", what)
				}
			}()
			define()
		}()
	}
}
