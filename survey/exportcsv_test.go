package survey_test

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/driver"
	"github.com/belfry-go/belfry/survey"
)

// csiGR2 is the next version of the document's survey: without the complaint, with
// choices.
var csiGR2 = strings.Replace(csiGR,
	`{"id": "complaint", "type": "longText", "when": {"questionId": "has-a-complaint", "op": "==", "value": "yes"}}`,
	`{"id": "remark", "type": "longText"}, {"id": "extras", "type": "multiple", "options": [{"value": "-wash"}, {"value": "tyres"}]}, {"id": "delta", "type": "number"}`, 1)

// twoAnswers publishes two versions with a response each.
func (h *host) twoAnswers() {
	h.publish(csiGR)
	h.submit(h.invite("one", func(r *survey.InstanceRow) { r.CustomerRef, r.BusinessUnit = "@cmd", "erbil" }), complains)
	h.publish(csiGR2)
	h.clock.Add(oneDay)
	h.submit(h.invite("two", func(r *survey.InstanceRow) { r.SurveyVersion = 2 }),
		`{"rate": 9, "has-a-complaint": "no", "remark": "=HYPERLINK(\"http://x\")\nand \"more\", so", "extras": ["tyres", "-wash"], "delta": -5}`)
}

func (h *host) csv(q survey.ResponseQuery) string {
	h.t.Helper()
	var out bytes.Buffer
	if _, err := h.survey.Responses().ExportCSV(h.t.Context(), "", &out, q, nil); err != nil {
		h.t.Fatal(err)
	}
	return out.String()
}

func TestAnExportIsCSVThatNoSpreadsheetRuns(t *testing.T) {
	eachHost(t, nil, func(h *host) {
		h.twoAnswers()
		want := "publicId,surveyId,surveyVersion,triggerId,businessUnit,customerRef,agentId,locale,completedAt,submittedAt," +
			"answers.rate,answers.has-a-complaint,answers.complaint,answers.remark,answers.extras,answers.delta\r\n" +
			"id-one,4523,1,csi-gr-trigger,erbil,'@cmd,,,2026-05-14T05:12:34Z,2026-05-14T05:12:34Z,3,yes,It was late.,,,\r\n" +
			"id-two,4523,2,csi-gr-trigger,,cust-123,,,2026-05-15T05:12:34Z,2026-05-15T05:12:34Z,9,no,,\"'=HYPERLINK(\"\"http://x\"\")\r\nand \"\"more\"\", so\",'-wash; tyres,-5\r\n"
		h.same("CSV", want, h.csv(survey.ResponseQuery{SurveyID: 4523}))
	})
}

func TestAnExportIsOfItsRange(t *testing.T) {
	eachHost(t, nil, func(h *host) {
		h.twoAnswers()
		for name, c := range map[string]struct {
			q       survey.ResponseQuery
			want    string
			columns int
		}{
			"all":         {survey.ResponseQuery{SurveyID: 4523}, "id-one id-two", 16},
			"since":       {survey.ResponseQuery{SurveyID: 4523, Since: start.Add(oneDay)}, "id-two", 15},
			"until":       {survey.ResponseQuery{SurveyID: 4523, Until: start.Add(oneDay)}, "id-one", 13},
			"one unit":    {survey.ResponseQuery{SurveyID: 4523, BusinessUnits: []string{"erbil"}}, "id-one", 13},
			"no unit":     {survey.ResponseQuery{SurveyID: 4523, BusinessUnits: []string{}}, "", 10},
			"the first":   {survey.ResponseQuery{SurveyID: 4523, Page: storage.Page{Limit: 1}}, "id-one", 13},
			"another one": {survey.ResponseQuery{SurveyID: 4524}, "", 10},
			"nothing yet": {survey.ResponseQuery{SurveyID: 4523, Since: start.Add(2 * oneDay)}, "", 10},
		} {
			records, err := csv.NewReader(strings.NewReader(h.csv(c.q))).ReadAll()
			if err != nil {
				t.Fatal(err)
			}
			var ids []string
			for _, r := range records[1:] {
				ids = append(ids, r[0])
			}
			h.same(name, []any{c.want, c.columns}, []any{strings.Join(ids, " "), len(records[0])})
		}
	})
}

func TestAnExportAsJSONLinesSaysAll(t *testing.T) {
	eachHost(t, nil, func(h *host) {
		h.twoAnswers()
		var out bytes.Buffer
		n, err := h.survey.Responses().ExportJSONLines(t.Context(), "", &out, survey.ResponseQuery{SurveyID: 4523, Until: start.Add(oneDay)})
		h.same("error", error(nil), err)
		h.same("responses", 1, n)
		h.same("line", `{"publicId":"id-one","surveyId":4523,"surveyVersion":1,"triggerId":"csi-gr-trigger","businessUnit":"erbil","customerRef":"@cmd",`+
			`"completedAt":"2026-05-14T05:12:34Z","submittedAt":"2026-05-14T05:12:34Z","answers":{"complaint":"It was late.","has-a-complaint":"yes","rate":3}}`+"\n", out.String())
	})
}

// More than two pages come out, each response once; while a slow reader takes them,
// the store takes writes.
func TestAnExportGoesPageByPage(t *testing.T) {
	eachHost(t, nil, func(h *host) {
		h.publish(csiGR)
		const all = 210
		h.tx(func(tx storage.Tx) error {
			bound := h.survey.WithTx(tx)
			for i := range all {
				r := &survey.InstanceRow{
					Due:      driver.Due{Record: storage.Record{Key: fmt.Sprint("k", i), Status: survey.StatusSent}},
					PublicID: fmt.Sprint("id-", i), LinkHash: fmt.Sprint(i), SurveyID: 4523, SurveyVersion: 1, TriggerID: "csi-gr-trigger", Metadata: json.RawMessage(`{}`),
				}
				if _, err := instanceTable.Insert(t.Context(), tx, r); err != nil {
					return err
				}
				if _, err := bound.Complete(t.Context(), "", r.PublicID, survey.Response{Answers: json.RawMessage(content)}); err != nil {
					return err
				}
			}
			return nil
		})
		seen := map[string]bool{}
		reader, writer := io.Pipe()
		done := make(chan error, 1)
		go func() {
			n, err := h.survey.Responses().ExportCSV(t.Context(), "", writer, survey.ResponseQuery{SurveyID: 4523}, nil)
			if n != all+1 {
				t.Errorf("%d responses", n)
			}
			done <- errors.Join(err, writer.Close())
		}()
		lines := csv.NewReader(reader)
		for {
			record, err := lines.Read()
			if err == io.EOF {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			if len(seen) == 0 { // the header
				h.submit(h.invite("late"), content)
			}
			seen[record[0]] = true
		}
		h.same("each, and the header", all+2, len(seen))
		h.same("error", error(nil), <-done)
	})
}

func TestAnExportSaysThatItsWriterFailed(t *testing.T) {
	eachHost(t, nil, func(h *host) {
		h.twoAnswers()
		full := errors.New("disk full")
		q := survey.ResponseQuery{SurveyID: 4523}
		_, err := h.survey.Responses().ExportCSV(t.Context(), "", failing{full}, q, nil)
		h.same("CSV", true, errors.Is(err, full))
		_, err = h.survey.Responses().ExportJSONLines(t.Context(), "", failing{full}, q)
		h.same("JSON lines", true, errors.Is(err, full))
		n, err := h.survey.Responses().ExportCSV(t.Context(), "south", io.Discard, q, nil)
		h.same("of another tenant", []any{0, error(nil)}, []any{n, err})
	})
}

type failing struct{ err error }

func (f failing) Write([]byte) (int, error) { return 0, f.err }

// A spreadsheet opens an export as people read it: with labels, the values of the dimensions,
// local times, and for those who write a decimal comma with semicolons.
func TestAnExportOpensInASpreadsheet(t *testing.T) {
	t.Parallel()
	onMemoryHost(t, nil, func(h *host) {
		h.publish(`{"dimensions": ["candidate.city"], "questions": [
			{"id": "rate", "type": "rating", "label": {"en": "How was {{.Value \"x\"}}?", "de": "Wie war es?"}}, {"id": "cost", "type": "number", "label": "Cost"}, {"id": "cost2", "type": "number", "label": "Cost"},
			{"id": "how", "type": "choice", "options": [{"value": "c", "label": {"en": "By car", "de": "Mit dem Auto"}}]}, {"id": "with", "type": "multiple", "options": [{"value": "a", "label": "Ann"}, {"value": "b", "label": "=Bob"}]}, {"id": "ok", "type": "yesNo"}
		], "triggers": [{"id": "t", "enabled": true, "eventKind": "service-visit-closed", "dedupRecipe": ["templateId", "candidate.wip"], "schedule": {"initialDelay": "0d"}, "channel": "memory:default"}]}`)
		id := h.ingest(`{"wip": "1", "city": "=Cork"}`).Items[0].Instances[0].PublicID
		if _, err := h.survey.Complete(t.Context(), "", id, survey.Response{Answers: json.RawMessage(`{"rate": 4, "cost": 1234.5, "cost2": -2, "how": "c", "with": ["a", "b"], "ok": "yes"}`)}); err != nil {
			t.Fatal(err)
		}
		berlin, err := time.LoadLocation("Europe/Berlin")
		if err != nil {
			t.Fatal(err)
		}
		const fixed = "publicId,surveyId,surveyVersion,triggerId,businessUnit,customerRef,agentId,locale,completedAt,submittedAt"
		for name, c := range map[string]struct {
			o    *survey.CSVOptions
			want string
		}{
			"as it was": {nil, fixed + ",candidate.city,answers.rate,answers.cost,answers.cost2,answers.how,answers.with,answers.ok\r\n" +
				id + ",4523,1,t,,cust-123,,,2026-05-14T05:12:34Z,2026-05-14T05:12:34Z,'=Cork,4,1234.5,-2,c,a; b,yes\r\n"},
			"labels": {&survey.CSVOptions{Labels: true, Zone: berlin}, strings.NewReplacer("At,", "At (Europe/Berlin),", "submittedAt", "submittedAt (Europe/Berlin)").Replace(fixed) + ",city,How was …?,Cost (cost),Cost (cost2),how,with,ok\r\n" +
				id + ",4523,1,t,,cust-123,,,2026-05-14 07:12:34,2026-05-14 07:12:34,'=Cork,4,1234.5,-2,By car,Ann; =Bob,yes\r\n"},
			"German": {&survey.CSVOptions{Labels: true, Locale: "de", Comma: ';'}, strings.ReplaceAll(fixed, ",", ";") + ";city;Wie war es?;Cost (cost);Cost (cost2);how;with;ok\r\n" +
				id + ";4523;1;t;;cust-123;;;2026-05-14T05:12:34Z;2026-05-14T05:12:34Z;'=Cork;4;1234,5;-2;Mit dem Auto;\"Ann; =Bob\";yes\r\n"},
		} {
			var out bytes.Buffer
			if _, err := h.survey.Responses().ExportCSV(t.Context(), "", &out, survey.ResponseQuery{SurveyID: 4523}, c.o); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, out.String()); diff != "" {
				t.Errorf("%s: %s", name, diff)
			}
		}
	})
}
