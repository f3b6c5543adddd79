package survey

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/belfry-go/belfry/notify"
)

// LinkData is what the text of a send is made of. Templates of a definition have,
// beside its fields, {{.Lang}} and {{.Dir}}: the locale of the text that was chosen
// for the recipient, and "rtl" or "ltr".
type LinkData struct {
	// URL opens the form; PublicID is for correlation.
	URL, PublicID string
	Survey        string // its name
	SurveyID      int64
	Locale        string
	// Ordinal is 0 for the initial send, 1 and up for the reminders. Attempt counts
	// the calls of the channel, this one included.
	Ordinal, Attempt int
	CustomerRef      string
	// Metadata is the payload of the event; see [LinkData.Value].
	Metadata json.RawMessage
}

// Renderer makes the text of a send. It is called from several goroutines. An error
// that [notify.Permanent] is in the chain of stops the schedule, another one has
// the send tried again.
type Renderer interface {
	Render(ctx context.Context, d LinkData) (Parts, error)
}

// Parts are the text of a send.
type Parts struct {
	Subject, Text, HTML string
	// Template is set where the provider holds the text itself.
	Template notify.ProviderTemplate
}

func linkData(r *Instance, name, link string, attempt int) LinkData {
	return LinkData{
		URL: link, PublicID: r.PublicID, Survey: name, SurveyID: r.SurveyID, Locale: r.RecipientLocale,
		Ordinal: r.SendOrdinal, Attempt: attempt, CustomerRef: r.CustomerRef, Metadata: r.Metadata,
	}
}

// Value is the value at a path of the event's payload, as it was written, such as
// {{.Value "CustomerName"}} or {{.Value "vehicle.model"}}. It is empty where there
// is none, and for an object or an array.
func (d LinkData) Value(path string) string {
	var v any
	dec := json.NewDecoder(bytes.NewReader(d.Metadata))
	dec.UseNumber() // an id beyond 2^53 stays what it is
	if dec.Decode(&v) != nil {
		return ""
	}
	for name := range strings.SplitSeq(path, ".") {
		object, ok := v.(map[string]any)
		if !ok {
			return ""
		}
		v = object[name]
	}
	switch v := v.(type) {
	case string:
		return v
	case json.Number, bool:
		return fmt.Sprint(v)
	}
	return ""
}
