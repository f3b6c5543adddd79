package notify

import (
	"errors"
	"runtime"
	"strings"
	"testing"
)

// FuzzAudienceCSV holds the bounds for any text: what a record costs, and a file of as
// many bytes as a record may have.
func FuzzAudienceCSV(f *testing.F) {
	for _, text := range []string{
		"id,email\n7,sam@example.com\n", "\ufeffid\n\"a\nb\"\n", "id\n\"", "id" + strings.Repeat(",c", 3000) + "\n", "id,a\n" + strings.Repeat("1,\n", 20_000),
		"id\n" + strings.Repeat("\"", maxRecord), strings.Repeat("a,", maxRecord/2) + "id\n",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		text = text[:min(len(text), maxRecord)]
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		entries := 0
		for e := range AudienceCSV(strings.NewReader(text), CSVColumns{Ref: "id"}).entries {
			if entries++; e.fault == nil && e.err == nil && e.line < 2 {
				t.Errorf("record %d is on line %d", entries, e.line)
			}
		}
		runtime.ReadMemStats(&after)
		if used := after.TotalAlloc - before.TotalAlloc; used > 16<<20 {
			t.Errorf("%d bytes were allocated for %d bytes", used, len(text))
		}
		if entries > len(text)+1 {
			t.Errorf("%d entries of %d bytes", entries, len(text))
		}
	})
}

// A quote that nothing closes ends the stream, however long the file is.
func TestARecordOfAnAudienceIsBounded(t *testing.T) {
	t.Parallel()
	file := strings.NewReader("id\n7\n\"" + strings.Repeat("x\n", 8<<20))
	var last entry
	n := 0
	for e := range AudienceCSV(file, CSVColumns{Ref: "id"}).entries {
		n, last = n+1, e
	}
	if n != 2 || !errors.Is(last.err, errLongRecord) || file.Len() < 15<<20 {
		t.Errorf("%d entries, %v, and %d bytes are not read", n, last.err, file.Len())
	}
}
