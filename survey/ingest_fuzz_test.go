package survey_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/benbjohnson/clock"
	"github.com/google/go-cmp/cmp"

	"github.com/belfry-go/belfry/storage/memory"
	"github.com/belfry-go/belfry/survey"
)

// FuzzIngest: no item fails a batch, each has the outcome that its instances say,
// and told again it makes nothing.
func FuzzIngest(f *testing.F) {
	f.Add([]byte(visit), "+964 770 000 0001", "ar", "cust-123", int64(0))
	f.Add([]byte(`{"jobType":"GR","wip":{"a":1}}`), "a", "", "", int64(1))
	f.Add([]byte(`{"jobType":"GR","wip":[]}`), "a\n", "\xff", "\x00", int64(-1))
	f.Add([]byte(`{"jobType":"GR","wip":"\u001f","dealerId":1e400}`), "a", "\u202e", "é", int64(1<<62))
	f.Add([]byte(`{"jobType":"GR","note":"<<<<<<"}`), "=1+1", "ar-IQ", "c", int64(1_700_000_000))
	clk := clock.NewMock()
	clk.Set(start)
	f.Fuzz(func(t *testing.T, payload []byte, address, locale, customer string, occurredOn int64) {
		s := survey.New(memory.New(&memory.Options{Clock: clk}), nil)
		if _, err := s.Publish(t.Context(), survey.Version{SurveyID: 4523, Name: "CSI", IntegrationID: "csi-gr", Definition: json.RawMessage(csiGR)}); err != nil {
			t.Fatal(err)
		}
		item := survey.Item{Payload: payload, Recipient: survey.Recipient{Address: address, Locale: locale, CustomerRef: customer}}
		if occurredOn != 0 {
			item.OccurredOn = time.Unix(occurredOn, 0)
		}
		b := batch(visit)
		b.Items = append(b.Items, item, item)
		first, err := s.Ingest(t.Context(), b)
		if err != nil {
			t.Fatal(err)
		}
		again, err := s.Ingest(t.Context(), b)
		if err != nil {
			t.Fatal(err)
		}
		if again.Created != 0 || first.Items[0].Outcome != survey.Created || first.Failed != again.Failed || first.NoMatch != again.NoMatch {
			t.Fatalf("first %+v, then %+v", first, again)
		}
		if diff := cmp.Diff(first.Items[2], again.Items[1]); diff != "" {
			t.Fatalf("one item twice:\n%s", diff)
		}
		if _, err := json.Marshal(first); err != nil {
			t.Fatal(err)
		}
	})
}
