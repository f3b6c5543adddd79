package sqlstore

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/belfry-go/belfry/storage/driver"
)

type kinds struct {
	driver.Due
	Text  string    `db:"text"`
	Maybe string    `db:"maybe,null"`
	Int   int32     `db:"number"`
	Bool  bool      `db:"truth"`
	Time  time.Time `db:"instant"`
	JSON  []string  `db:"list,json"`
	Bytes []byte    `db:"bytes"`
}

var kindsTable = driver.Define[kinds]("kinds")

// pq.Array makes NULL of a nil slice, \x of a nil element and the year 1 of a
// zero time; these literals keep what the columns say (driver trap 3).
func TestArraysKeepEveryValue(t *testing.T) {
	t.Parallel()
	west := time.FixedZone("", -5*3600)
	rows := []driver.Row{
		&kinds{},
		&kinds{
			Text: `a "b" \ {c}, ü`, Maybe: "NULL", Int: -7, Bool: true,
			Time: time.Date(2026, 3, 1, 3, 0, 0, 1_999, west), JSON: []string{`"`, `\`}, Bytes: []byte{0, 255},
		},
		&kinds{Time: time.Time{}.In(west), JSON: []string{}, Bytes: []byte{}},
	}
	var fields []driver.Fields
	for _, r := range rows {
		fields = append(fields, driver.FieldsOf(r))
	}
	want := map[string]string{
		"text":    `{"","a \"b\" \\ {c}, ü",""}`,
		"maybe":   `{NULL,"NULL",NULL}`,
		"number":  `{0,-7,0}`,
		"truth":   `{false,true,false}`,
		"instant": `{NULL,"2026-03-01T08:00:00.000001Z",NULL}`,
		"list":    `{"null","[\"\\\"\",\"\\\\\"]","[]"}`,
		"bytes":   `{"\\x","\\x00ff","\\x"}`,
	}
	for column, literal := range want {
		got, err := columnArray(kindsTable.Column(column), fields)
		if diff := cmp.Diff(literal, got); err != nil || diff != "" {
			t.Errorf("%s: %v (-want +got):\n%s", column, err, diff)
		}
	}
}

// With binary_parameters=yes lib/pq sends a []byte as binary, whatever the
// statement expects.
func TestNoParameterIsASliceOfBytes(t *testing.T) {
	t.Parallel()
	s, err := PostgreSQL.table(naming{Dialect: PostgreSQL}, &kindsTable.Schema).(*postgresTable).insertion.statement(nil, []driver.Row{&kinds{Bytes: []byte("x")}})
	if err != nil {
		t.Fatal(err)
	}
	for i, a := range s.args {
		if _, ok := a.([]byte); ok {
			t.Errorf("parameter %d is a []byte", i+1)
		}
	}
}

// A column that is the same for all rows is one value, NULL included, and its
// array is empty; the first column is always an array.
func TestAColumnThatIsTheSameForAllRowsIsOneValue(t *testing.T) {
	t.Parallel()
	columns := []*driver.Column{kindsTable.Column("id"), kindsTable.Column("kind"), kindsTable.Column("status"), kindsTable.Column("due_on")}
	row := func(id int64, status string) driver.Row {
		return &kinds{Due: driver.Due{Record: driver.Record{ID: id, Kind: "a", Status: status}}}
	}
	for _, test := range []struct {
		rows []driver.Row
		want []any
	}{
		{[]driver.Row{row(7, "x"), row(7, "y")}, []any{"lead", "a", nil, nil, "{7,7}", "{}", `{"x","y"}`, "{}"}},
		{[]driver.Row{row(8, "x")}, []any{"lead", "a", "x", nil, "{8}", "{}", "{}", "{}"}},
	} {
		f := newFrame("", columns, "")
		got, err := f.statement([]any{"lead"}, test.rows)
		if diff := cmp.Diff(test.want, got.args); err != nil || diff != "" {
			t.Errorf("%v (-want +got):\n%s", err, diff)
		}
	}
}

// Of many rows the text says which columns are one value, and a moment that each
// row has twice is passed once.
func TestTheTextForManyRowsSaysWhatTheyShare(t *testing.T) {
	t.Parallel()
	var columns []*driver.Column
	for _, name := range []string{"id", "kind", "status", "due_on", "instant", "lease_expires_on"} {
		columns = append(columns, kindsTable.Column(name))
	}
	f := newFrame("SELECT ? FROM ", columns, " WHERE true")
	rows := make([]driver.Row, manyRows)
	for i := range rows {
		on := time.Unix(int64(i), 0)
		rows[i] = &kinds{Time: on, Due: driver.Due{Record: driver.Record{ID: int64(i), Kind: "a", Status: on.UTC().Format(time.RFC3339Nano)}, DueOn: on, LeaseExpiresOn: on.Add(time.Hour)}}
	}
	got, err := f.statement([]any{"lead"}, rows)
	want := `SELECT $1 FROM (SELECT u."id" AS "id", $2::text AS "kind", u."status" AS "status", u."due_on" AS "due_on", u."due_on" AS "instant", ` +
		`u."lease_expires_on" AS "lease_expires_on", u.n FROM unnest((SELECT $3::bigint[]), (SELECT $4::text[]), (SELECT $5::timestamptz[]), ` +
		`(SELECT $6::timestamptz[])) WITH ORDINALITY AS u("id", "status", "due_on", "lease_expires_on", n)) AS c WHERE true`
	if diff := cmp.Diff(want, got.text); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	if len(got.args) != 6 || got.args[0] != "lead" || got.args[1] != "a" {
		t.Errorf("arguments: %v", got.args)
	}

	few, err := f.statement([]any{"lead"}, rows[:manyRows-1])
	if other, _ := f.statement([]any{"lead"}, rows[:1]); err != nil || few.text != other.text {
		t.Errorf("%v: the text of few rows depends on them:\n%s\n%s", err, few.text, other.text)
	}
}

// Also one in a literal: no value may be in a text, nor an operator with a question
// mark.
func TestEveryQuestionMarkIsAParameter(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"SELECT '?', a ? 'b'": "SELECT '$1', a $2 'b'",
		"???????????":         "$1$2$3$4$5$6$7$8$9$10$11",
		"SELECT 1":            "SELECT 1",
	} {
		if got := PostgreSQL.rebind(text); got != want {
			t.Errorf("%s: %s", text, got)
		}
		if got := SQLite.rebind(text); got != text {
			t.Errorf("SQLite: %s", got)
		}
	}
}
