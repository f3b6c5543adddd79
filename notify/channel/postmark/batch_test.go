package postmark

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/belfry-go/belfry/notify/channel"
)

// several are mails to these people.
func several(names ...string) (out []channel.Message) {
	for i, name := range names {
		m := letter()
		m.ID, m.To = fmt.Sprintf("%032d", i), name+"@canary.example"
		out = append(out, m)
	}
	return out
}

// inShort are results, a line each.
func inShort(results []channel.BatchResult) (out []string) {
	for _, r := range results {
		e := channel.Classify(r.Err)
		if e == nil {
			out = append(out, r.Receipt.ID)
			continue
		}
		out = append(out, fmt.Sprintf("%s %s %s", e.Class, e.Code, e.Suppress))
	}
	return out
}

func TestABatchIsOneRequestAndEachMailHasItsResult(t *testing.T) {
	t.Parallel()
	s := serve(t, nil)
	all := several("sam", "inactive", "kim", "ann")
	all[2].To = "no address"
	results, err := open(t, s, Options{Batch: 500}).SendBatch(t.Context(), all)
	if err != nil || s.asked() != 1 {
		t.Fatal(s.asked(), err)
	}
	want := []string{"b7bc2f4a-1", "Permanent 200 406 HardBounce", "Permanent address ", "b7bc2f4a-2"}
	if diff := cmp.Diff(want, inShort(results)); diff != "" {
		t.Error(diff)
	}
	var ids []string
	for _, m := range s.sent() {
		ids = append(ids, m.Metadata["belfry_message"])
	}
	if diff := cmp.Diff([]string{all[0].ID, all[3].ID}, ids); diff != "" {
		t.Error(diff)
	}
}

func TestABatchOfWhatMakesNoMailMakesNoRequest(t *testing.T) {
	t.Parallel()
	s := serve(t, nil)
	all := several("sam", "kim")
	all[0].To, all[1].To = "", ""
	results, err := open(t, s, Options{Batch: 2}).SendBatch(t.Context(), all)
	if got := strings.Join(inShort(results), ";"); err != nil || s.asked() != 0 || got != "Permanent address ;Permanent address " {
		t.Error(s.asked(), err, got)
	}
}

// What answers for the whole request says what Send says by it; what answers for
// another number of mails leaves all in doubt.
func TestAnAnswerToAWholeBatch(t *testing.T) {
	t.Parallel()
	for want, answer := range map[string]func(http.ResponseWriter){
		"Transient 401 10":       func(w http.ResponseWriter) { fault(w, http.StatusUnauthorized, 10, "sam@canary.example") },
		"Permanent 422 402":      func(w http.ResponseWriter) { fault(w, http.StatusUnprocessableEntity, 402, "sam@canary.example") },
		"Unknown 500":            func(w http.ResponseWriter) { w.WriteHeader(http.StatusInternalServerError) },
		"Unknown 200 no-answers": func(w http.ResponseWriter) { _, _ = io.WriteString(w, `[{"ErrorCode":0,"MessageID":"b7bc2f4a-1"}]`) },
		"Unknown no answer": func(w http.ResponseWriter) {
			c, _, err := w.(http.Hijacker).Hijack()
			if err == nil {
				_ = c.Close()
			}
		},
	} {
		s := serve(t, func(w http.ResponseWriter, _ *http.Request) bool { answer(w); return true })
		results, err := open(t, s, Options{Batch: 2}).SendBatch(t.Context(), several("sam", "kim"))
		e := channel.Classify(err)
		if e == nil || fmt.Sprintf("%s %s", e.Class, e.Code) != want || results != nil || strings.Contains(err.Error(), "canary") {
			t.Errorf("%s: %v, %v", want, results, err)
		}
	}
}

func TestABatchIsBounded(t *testing.T) {
	t.Parallel()
	for _, n := range []int{-1, 501} {
		if _, err := New(token, &Options{From: "office@school.example", Batch: n}); err == nil || !strings.Contains(err.Error(), "Batch is not from 0 to 500") {
			t.Error(n, err)
		}
	}
	if got := open(t, serve(t, nil), Options{Batch: 7}); channel.CapabilitiesOf(got).Batch != 7 {
		t.Error("it declares another size")
	}
	if got := open(t, serve(t, nil), Options{}); channel.CapabilitiesOf(got).Batch != 0 {
		t.Error("it declares batches")
	}
}
