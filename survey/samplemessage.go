package survey

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/belfry-go/belfry/internal/strictjson"
	"github.com/belfry-go/belfry/notify"
)

// sample is what templates are tried on. The event has a value at every path, long
// enough for a template that takes parts of it.
type sample struct{ textData }

// Value is in the place of [LinkData.Value].
func (sample) Value(string) string { return strings.Repeat("0123456789", 10) }

const sampleURL = "https://host.example/s/sample"

func sampleData() sample {
	return sample{textData{
		LinkData: LinkData{
			URL: sampleURL, PublicID: "SAMPLE0123456789SAMPLE0123456789", Survey: "Sample survey", SurveyID: 1, Locale: "en-GB",
			Attempt: 1, CustomerRef: "sample-0123456789", Metadata: json.RawMessage(`{}`),
		},
		Lang: "en-GB", Dir: "ltr",
	}}
}

func sampleText(text string) (string, error) {
	return execute("text", text, sampleData(), notify.MaxText)
}

func sampleHTML(text string) (string, error) { return executeHTML(text, sampleData()) }

// withoutLink warns of messages in which there is no link.
func (d *Definition) withoutLink(f *strictjson.Faults) {
	for i, m := range d.Messages {
		at := strictjson.Element("messages", i)
		m.Text.withoutLink(strictjson.Member(at, "text"), sampleText, f)
		m.HTML.withoutLink(strictjson.Member(at, "html"), sampleHTML, f)
	}
}

func (t Text) withoutLink(path string, sample func(string) (string, error), f *strictjson.Faults) {
	for _, locale := range slices.Sorted(maps.Keys(t)) {
		if text, _ := sample(t[locale]); !strings.Contains(text, sampleURL) {
			f.Add(t.path(path, locale), "has no {{.URL}}: customers get no link")
		}
	}
}
