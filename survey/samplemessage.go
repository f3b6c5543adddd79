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

func sampleText(name, text string) (string, error) {
	return execute(name, text, sampleData(), notify.MaxText)
}

func sampleHTML(_, text string) (string, error) { return executeHTML(text, sampleData()) }

// withoutLink warns of messages in which there is no link.
func (d *Definition) withoutLink(f *strictjson.Faults) {
	for i, m := range d.Messages {
		at := strictjson.Element("messages", i)
		m.Text.withoutLink(at, "text", sampleText, f)
		m.HTML.withoutLink(at, "html", sampleHTML, f)
	}
}

func (t Text) withoutLink(at, name string, sample func(name, text string) (string, error), f *strictjson.Faults) {
	for _, locale := range slices.Sorted(maps.Keys(t)) {
		if text, _ := sample(name, t[locale]); !strings.Contains(text, sampleURL) {
			f.Add(t.path(strictjson.Member(at, name), locale), "has no {{.URL}}: customers get no link")
		}
	}
}
