package notify_test

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	_ "github.com/mattn/go-sqlite3" // the host's own database

	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/reasons"
)

const peopleCSV = "\ufeffid;email;Name;language;code;internal\n" +
	"17;Sam@EXAMPLE.com;\"Sam\nSmith\";de;A1;x\n" +
	"18; kim@example.com ;Kim;;B2;y\n" +
	"19;nowhere;Joe;;C3;z\n"

var peopleColumns = notify.CSVColumns{Ref: "id", Address: "email", Name: "Name", Locale: "language", Ignore: []string{"internal"}, Comma: ';'}

// stored lists what a payload holds.
func (h *host) stored(p notify.Payload) (out []notify.Recipient) {
	h.t.Helper()
	for r, err := range h.ContentOf(p).Recipients(h.t.Context()) {
		if err != nil {
			h.t.Fatal(err)
		}
		out = append(out, r)
	}
	return out
}

func TestAnAudienceFromCSVIsNormalisedWhileItStreams(t *testing.T) {
	visits(t, func(t *testing.T, h *host) {
		put := func() notify.Payload {
			p, err := h.Campaigns().PutAudience(t.Context(), notify.AudienceCSV(strings.NewReader(peopleCSV), peopleColumns), &notify.PayloadOptions{
				EventData: json.RawMessage(`{"Source": "spring"}`), Channel: channelKey, Locale: "en", Zone: "Europe/Dublin",
			})
			if err != nil {
				t.Fatal(err)
			}
			return p
		}
		p := put()
		h.same("recipients", []notify.Recipient{
			{Ref: "17", Channel: channelKey, Address: "Sam@example.com", Name: "Sam\nSmith", Locale: "de", Zone: "Europe/Dublin", Data: map[string]string{"code": "A1"}},
			{Ref: "18", Channel: channelKey, Address: "kim@example.com", Name: "Kim", Locale: "en", Zone: "Europe/Dublin", Data: map[string]string{"code": "B2"}},
			{Ref: "19", Channel: channelKey, Address: "nowhere", Name: "Joe", Locale: "en", Zone: "Europe/Dublin", Data: map[string]string{"code": "C3"}},
		}, h.stored(p))
		h.same("skipped", []notify.AudienceFault{{Line: 5, Problem: reasons.BadAddress}}, p.Skipped)
		if again := put(); p.Recipients != 3 || p.SkippedCount != 1 || again.Blob.SHA256 != p.Blob.SHA256 {
			t.Errorf("%d recipients, %d skipped, hashes %s and %s", p.Recipients, p.SkippedCount, p.Blob.SHA256, again.Blob.SHA256)
		}
	})
}

func TestEveryFaultOfAnAudienceIsListedWithItsLineAndNothingIsStored(t *testing.T) {
	visits(t, func(t *testing.T, h *host) {
		file := "id,email,how\n" +
			"1,sam@example.com,email:test\n" +
			"2,kim@example.com\n" + // a field is missing
			"3,\"joe\nann\"@example.com,email:test\n" + // a quote in the middle
			"4,ann@example.com,E-MAIL:test\n" + // no method
			"5,zoe\x00@example.com,email:test\n" +
			"6,\xff@example.com,email:test\n" +
			"7," + strings.Repeat("x", 16<<10) + ",email:test\n"
		_, err := h.Campaigns().PutAudience(t.Context(), notify.AudienceCSV(strings.NewReader(file), notify.CSVColumns{Ref: "id", Address: "email", Channel: "how"}), nil)
		var refused *notify.AudienceError
		if !errors.As(err, &refused) {
			t.Fatalf("error is %v", err)
		}
		lines := map[int]bool{}
		for _, f := range refused.Faults {
			lines[f.Line] = true
			if strings.Contains(f.Problem, "example.com") {
				t.Errorf("the fault %q holds an address", f.Problem)
			}
		}
		h.same("lines", map[int]bool{3: true, 4: true, 6: true, 7: true, 8: true, 9: true}, lines)
		if n, err := h.store.Blobs().Collect(t.Context(), 10); n != 0 || err != nil {
			t.Errorf("a blob is complete: %d %v", n, err)
		}
	})
}

func TestTheListOfFaultsIsCapped(t *testing.T) {
	visitsInMemory(t, func(h *host) {
		file := "id,email\n" + strings.Repeat("x\n", 250)
		_, err := h.Campaigns().PutAudience(t.Context(), notify.AudienceCSV(strings.NewReader(file), notify.CSVColumns{Address: "email"}), nil)
		var refused *notify.AudienceError
		if !errors.As(err, &refused) || len(refused.Faults) != 100 || refused.Count != 250 || !strings.HasSuffix(err.Error(), "and 150 more") {
			t.Errorf("error is %.80v", err)
		}
	})
}

func TestAFileThatIsNoAudienceIsRefused(t *testing.T) {
	visitsInMemory(t, func(h *host) {
		columns := notify.CSVColumns{Address: "email"}
		for file, want := range map[string]string{
			"":                    "the header: EOF",
			"id,mail\n":           `there is no column "email"`,
			"id,,email\n":         "column 2 has no name",
			"email,x,x\n":         "column 3 has no name, or that of another one",
			"a\"b\n":              "the header: ",
			"email\nsam@x.org\n?": "disk on fire",
		} {
			r := io.Reader(strings.NewReader(file))
			if strings.HasSuffix(file, "?") {
				r = io.MultiReader(strings.NewReader(strings.TrimSuffix(file, "?")), failingReader{})
			}
			if _, err := h.Campaigns().PutAudience(t.Context(), notify.AudienceCSV(r, columns), nil); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%q: %v, want %q", file, err, want)
			}
		}
	})
}

type failingReader struct{}

func (failingReader) Read([]byte) (int, error) { return 0, errors.New("disk on fire") }

func TestWhatIsCommonToAnAudienceIsChecked(t *testing.T) {
	visitsInMemory(t, func(h *host) {
		for want, o := range map[string]notify.PayloadOptions{
			"EventData: invalid character":    {EventData: json.RawMessage("?")},
			"EventData makes a header of":     {EventData: json.RawMessage(`"` + strings.Repeat(`\u003c`, (32<<10)/6+1) + `"`)},
			"Channel: keys: outgoing message": {Channel: ":"},
		} {
			if _, err := h.Campaigns().PutAudience(t.Context(), notify.AudienceOf(nil), &o); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%v, want %q", err, want)
			}
		}
	})
}

func TestAnAudienceComesFromRowsOfTheHost(t *testing.T) {
	visitsInMemory(t, func(h *host) {
		db, err := sql.Open("sqlite3", filepath.Join(t.TempDir(), "host.db"))
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		if _, err := db.Exec("CREATE TABLE member (id, mail); INSERT INTO member VALUES ('1', 'sam@example.com'), ('2', 'kim@example.com'), ('', '')"); err != nil {
			t.Fatal(err)
		}
		rows, err := db.Query("SELECT id, mail FROM member ORDER BY id DESC")
		if err != nil {
			t.Fatal(err)
		}
		defer rows.Close()
		_, err = h.Campaigns().PutAudience(t.Context(), notify.AudienceRows(rows, func() (r notify.Recipient, err error) {
			if err = rows.Scan(&r.Ref, &r.Address); err == nil && r.Ref == "" {
				err = fmt.Errorf("member: %w", notify.AudienceFault{Line: 77, Problem: "has no id"})
			}
			return r, err
		}), &notify.PayloadOptions{Channel: channelKey})
		if err == nil || !strings.Contains(err.Error(), "line 77: has no id") {
			t.Errorf("error is %v", err)
		}
		if rows.Next() || rows.Err() != nil {
			t.Error("the rows are open")
		}
	})
}

func TestAnIteratorThatFailsEndsTheAudience(t *testing.T) {
	visitsInMemory(t, func(h *host) {
		broken := errors.New("no connection")
		_, err := h.Campaigns().PutAudience(t.Context(), notify.AudienceOf(func(yield func(notify.Recipient, error) bool) {
			_ = yield(person("sam"), nil) && yield(notify.Recipient{}, broken)
		}), nil)
		if !errors.Is(err, broken) {
			t.Errorf("error is %v", err)
		}
	})
}

// Communication - Codebase flow, "Campaign": the API authorizes before exposing
// content.
func TestContentIsShownOnlyAfterTheHostHasAgreed(t *testing.T) {
	visits(t, func(t *testing.T, h *host) {
		h.plan("spring", h.audience(crowd(3)...))
		forbidden := errors.New("not yours")
		asked := notify.CampaignProgress{}
		_, err := h.Campaigns().Content(t.Context(), "tenant", "spring", func(_ context.Context, c notify.CampaignProgress) error {
			asked = c
			return forbidden
		})
		if !errors.Is(err, forbidden) || asked.GUID != "spring" || asked.BusinessUnit != "north" {
			t.Errorf("error is %v, asked about %+v", err, asked)
		}
		allow := func(context.Context, notify.CampaignProgress) error { return nil }
		c, err := h.Campaigns().Content(t.Context(), "tenant", "spring", allow)
		if err != nil || !bytes.Contains(c.EventData, []byte("2026-05-01")) {
			t.Fatal(err)
		}
		var refs []string
		for r, err := range c.Recipients(t.Context()) {
			if err != nil {
				t.Fatal(err)
			}
			refs = append(refs, r.Ref)
		}
		h.same("recipients", []string{"p000", "p001", "p002"}, refs)
		if _, err := h.Campaigns().Content(t.Context(), "other", "spring", allow); err == nil {
			t.Error("another tenant sees it")
		}
		if panicOf(func() { _, _ = h.Campaigns().Content(t.Context(), "tenant", "spring", nil) }) == "" {
			t.Error("it is shown without an authoriser")
		}
	})
}

func TestADryRunOfACampaignCountsAndWritesNothing(t *testing.T) {
	visits(t, func(t *testing.T, h *host) {
		h.moody("p004")
		bad := person("kim")
		bad.Address = "nowhere"
		p := h.audience(append(crowd(6), crowd(2)[0], bad, notify.Recipient{Ref: "nobody"}, inbox("zoe"))...)
		job := notify.MessagingJob{Scope: "tenant", Type: "moody", GUID: "spring", Blob: p.Blob}
		f, err := h.Campaigns().DryRun(t.Context(), job, 2)
		if err != nil {
			t.Fatal(err)
		}
		var samples []string
		for _, m := range f.Samples {
			samples = append(samples, m.RecipientRef+": "+m.Content.Text)
		}
		f.Samples = nil
		h.same("forecast", notify.CampaignForecast{
			Recipients: 10, Generated: 6, Repeated: 1,
			Skipped: map[string]int{reasons.BadAddress: 1, reasons.NoDestination: 1, reasons.RenderFailed: 1},
		}, f)
		h.same("samples", []string{"p000: at last", "p001: at last"}, samples)
		if len(all(h, notify.MessagingJobs))+len(all(h, notify.Messages))+len(all(h, notify.UserMessages)) != 0 {
			t.Error("something was written")
		}
		for what, j := range map[string]notify.MessagingJob{
			"GUID":     {Scope: "tenant", Type: "visit", Blob: p.Blob},
			"renderer": {Scope: "tenant", Type: "unknown", GUID: "spring", Blob: p.Blob},
			"no blob":  {Scope: "tenant", Type: "visit", GUID: "spring"},
		} {
			if _, err := h.Campaigns().DryRun(t.Context(), j, 2); err == nil {
				t.Errorf("a dry run without a %s", what)
			}
		}
		if diff := cmp.Diff(0, len(h.sent())); diff != "" {
			t.Error(diff)
		}
	})
}

// Spreadsheets leave traces in the lists that they save.
func TestAListIsReadAsSpreadsheetsWriteIt(t *testing.T) {
	visitsInMemory(t, func(h *host) {
		put := func(file string, comma rune) (notify.Payload, error) {
			columns := notify.CSVColumns{Ref: "id", Address: "email", Name: "name", Comma: comma}
			return h.Campaigns().PutAudience(h.t.Context(), notify.AudienceCSV(strings.NewReader(file), columns), &notify.PayloadOptions{Channel: channelKey})
		}
		want := []notify.Recipient{{Ref: "1", Channel: channelKey, Address: "sam@example.com", Name: "Sam"}}
		for name, c := range map[string]struct {
			file  string
			comma rune
		}{
			"empty columns at the end": {"id,email,name,,\r\n1,sam@example.com,Sam,,\r\n", 0},
			"empty rows":               {"id,email,name\r\n,,\r\n1,sam@example.com,Sam\r\n , ,\r\n", 0},
			"padded":                   {"id  ,email            ,name\u00a0\r\n1   ,sam@example.com   ,Sam    \r\n", 0},
			"sep=":                     {"sep=;\r\nid;email;name\r\n1;sam@example.com;Sam\r\n", 0},
			"sep= behind a mark":       {"\ufeffsep=\t\nid\temail\tname\n1\tsam@example.com\tSam\n", ','},
		} {
			p, err := put(c.file, c.comma)
			if err != nil {
				h.t.Errorf("%s: %v", name, err)
				continue
			}
			h.same(name, want, h.stored(p))
		}
		for file, text := range map[string]string{
			"\xff\xfei\x00d\x00": "UTF-16", "\xfe\xff\x00i\x00d": "UTF-16",
			"id,email,name,\n1,sam@example.com,Sam,x\n":       "line 2: it has a value in a column without a name",
			"sep=;\nid;email;name\n1;sam@example.com;Sa\"m\n": "line 3",
			"id,,name\n":     "column 2 has no name",
			"id,email, id\n": "column 3 has no name",
		} {
			if _, err := put(file, 0); err == nil || !strings.Contains(err.Error(), text) {
				h.t.Errorf("%q: %v, want %s", file, err, text)
			}
		}
	})
}
