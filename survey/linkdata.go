package survey

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
)

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
