package driver_test

import (
	"encoding/json"
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/belfry-go/belfry/storage/driver"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// full has a value in every column.
func full() *visit {
	return &visit{
		Due:   driver.Due{Record: driver.Record{ID: 1, Scope: "s", Key: "k", Kind: "t", Status: "S", Version: 2}, Lane: -1, DueOn: noon, LeaseExpiresOn: noon, ClaimToken: "c", Abandoned: true},
		Place: "p", Note: "n", Guests: 3, Rooms: 4, Paid: true, LeftOn: noon,
		Wishes: map[string]string{"view": "sea"}, Meals: []string{"tea"}, Form: json.RawMessage(`{"b":1,"a":2}`),
		Picture: []byte{1}, Stamp: []byte{2},
	}
}

func values(t *testing.T, r *visit) map[string]any {
	t.Helper()
	table := visits()
	out := map[string]any{}
	for i := range table.Columns {
		v, err := table.Columns[i].Value(r)
		if err != nil {
			t.Fatal(err)
		}
		out[table.Columns[i].Name] = v
	}
	return out
}

func TestValueIsCanonical(t *testing.T) {
	t.Parallel()
	want := map[string]any{
		"id": int64(1), "scope": "s", "key": "k", "kind": "t", "status": "S", "version": int64(2), "lane": int64(-1),
		"due_on": noon, "lease_expires_on": noon, "claim_token": "c", "abandoned": true,
		"place": "p", "note": "n", "guests": int64(3), "rooms": int64(4), "paid": true, "left_on": noon,
		"wishes": `{"view":"sea"}`, "meals": `["tea"]`, "form": `{"b":1,"a":2}`,
		"picture": []byte{1}, "stamp": []byte{2},
	}
	if diff := cmp.Diff(want, values(t, full())); diff != "" {
		t.Errorf("values (-want +got):\n%s", diff)
	}
}

func TestZeroValuesAreNullWhereTheyMayBe(t *testing.T) {
	t.Parallel()
	want := map[string]any{
		"id": int64(0), "scope": "", "key": "", "kind": "", "status": "", "version": int64(0), "lane": int64(0),
		"due_on": nil, "lease_expires_on": nil, "claim_token": "", "abandoned": false,
		"place": "", "note": nil, "guests": int64(0), "rooms": nil, "paid": false, "left_on": nil,
		"wishes": nil, "meals": "null", "form": nil, "picture": []byte{}, "stamp": nil,
	}
	if diff := cmp.Diff(want, values(t, &visit{})); diff != "" {
		t.Errorf("values (-want +got):\n%s", diff)
	}
}

func TestSetIsTheInverseOfValue(t *testing.T) {
	t.Parallel()
	for _, r := range []*visit{full(), {Picture: []byte{}}} {
		table, got := visits(), full()
		for name, v := range values(t, r) {
			if err := table.Column(name).Set(got, v); err != nil {
				t.Error(err)
			}
		}
		if diff := cmp.Diff(r, got); diff != "" {
			t.Errorf("row (-want +got):\n%s", diff)
		}
	}
}

func TestSetRefusesWhatIsNotCanonical(t *testing.T) {
	t.Parallel()
	table := visits()
	for column, v := range map[string]any{"guests": 3.5, "meals": `["open`} {
		if err := table.Column(column).Set(&visit{}, v); err == nil {
			t.Errorf("%s takes %v", column, v)
		}
	}
}

func TestValueSharesNoBytesWithTheRow(t *testing.T) {
	t.Parallel()
	r := full()
	v, err := visits().Column("picture").Value(r)
	if err != nil {
		t.Fatal(err)
	}
	v.([]byte)[0] = 9
	if r.Picture[0] != 1 {
		t.Error("the row changed")
	}
}

func TestValueRefusesWhatDatabasesDisagreeAbout(t *testing.T) {
	t.Parallel()
	for column, r := range map[string]*visit{
		"note":   {Note: "a\x00"},
		"place":  {Place: "\xc3\x28"},
		"form":   {Form: json.RawMessage(`{`)},
		"status": {Due: driver.Due{Record: driver.Record{Status: "\x00"}}},
	} {
		_, err := visits().Column(column).Value(r)
		refused := (*driver.ValueError)(nil)
		if !errors.As(err, &refused) || refused.Table != "visit" || refused.Column != column || refused.Problem == "" {
			t.Errorf("%s: error is %v", column, err)
		}
	}
}

func TestTimeIsUTCAndCutOff(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		nano := rapid.Int64Range(0, 999).Draw(t, "nano")
		micro := rapid.Int64Range(-6e16, math.MaxInt64/1000).Draw(t, "micro")
		zone := time.FixedZone("", rapid.IntRange(-12*3600, 14*3600).Draw(t, "zone"))
		given := time.UnixMicro(micro).Add(time.Duration(nano)).In(zone)
		got := driver.Time(given)
		if got.Location() != time.UTC || got.UnixMicro() != micro || got.Nanosecond()%1000 != 0 {
			t.Fatalf("%v became %v", given, got)
		}
		if !driver.Time(got).Equal(got) {
			t.Fatalf("%v is not its own canonical form", got)
		}
	})
	if got := driver.Time(time.Time{}.In(time.FixedZone("", 3600))); got != (time.Time{}) {
		t.Errorf("zero became %v", got)
	}
}

func TestATimeThatIsCutOffToZeroIsNull(t *testing.T) {
	t.Parallel()
	if v := values(t, &visit{LeftOn: time.Time{}.Add(1)})["left_on"]; v != nil {
		t.Errorf("value is %v", v)
	}
}

// note is a row with text that an index may have.
type note struct {
	driver.Record
	Author string `db:"author,indexed,person"`
	Text   string `db:"text,content"`
}

func TestTextThatMayBeIndexedHasABound(t *testing.T) {
	t.Parallel()
	table := driver.Define[note]("note")
	text := func(n int) string { return strings.Repeat("x", n) }
	for column, limit := range map[string]int{"scope": 200, "key": 2250, "kind": 200, "author": 512, "text": 0} {
		c := table.Column(column)
		r := &note{Record: driver.Record{Scope: driver.Scope(text(200)), Key: text(2250), Kind: text(200)}, Author: text(512), Text: text(10_000)}
		if _, err := c.Value(r); err != nil || c.Max != limit {
			t.Errorf("%s, of at most %d bytes: %v", column, c.Max, err)
		}
		c.Field(r).SetString(c.Field(r).String() + "x")
		_, err := c.Value(r)
		if refused := (*driver.ValueError)(nil); errors.As(err, &refused) != (limit > 0) {
			t.Errorf("%s, of one byte more: %v", column, err)
		}
	}
	defer func() {
		if recover() == nil {
			t.Error("a number was given a bound for text")
		}
	}()
	driver.Define[struct {
		driver.Record
		N int `db:"n,indexed"`
	}]("numbers")
}
