package support_test

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/notify/channel"
	"github.com/belfry-go/belfry/support"
)

// A redacted entry keeps just the texts that are listed here, and its keys as they are sealed.
// A field that is new is personal until it is listed.
func TestRedactLeavesOutWhatIsPersonal(t *testing.T) {
	open := []string{
		"Kind", "Outcome", "Type", "Occasion", "Channel", "Status", "Reason", "ReasonBy", "What", "ToDo", "Version", "MessageID", "ProviderID", "Entity.Type", "Can",
		"Part.Domain", "Part.Type", "Part.Channel", "Part.Setting", "Part.Subscriber",
		"Messages.MessageID", "Messages.Channel", "Messages.Outcome", "Messages.Status", "Messages.Reason", "Steps.What", "Steps.Reason",
	}
	keys := []string{"Key", "Person", "Entity.ID", "Messages.Person"}
	e := support.Entry{Letter: &support.Letter{Mail: channel.Mail{}}, Messages: make([]support.MessageState, 1), Steps: make([]support.Step, 1), Can: make([]support.Action, 1), Parts: make([]support.Entry, 1)}
	e.Parts[0] = support.Entry{Letter: &support.Letter{Files: make([]notify.AttachmentRef, 1)}, Steps: make([]support.Step, 1), Messages: make([]support.MessageState, 1)}
	texts(reflect.ValueOf(&e), "", func(_ string, text reflect.Value) { text.SetString("zinnober") })
	seal := func(key string) string { return "sealed " + strings.ToUpper(key) }

	got := e.Redact(seal, false)
	texts(reflect.ValueOf(&got), "", func(path string, text reflect.Value) {
		want := ""
		switch path = strings.TrimPrefix(path, "Parts."); {
		case slices.Contains(open, path):
			want = "zinnober"
		case slices.Contains(keys, path):
			want = "sealed ZINNOBER"
		}
		if text.String() != want {
			t.Errorf("%s is %q, want %q", path, text, want)
		}
	})

	all := e.Redact(func(key string) string { return key }, true)
	if !reflect.DeepEqual(all, e) {
		t.Errorf("who may see it gets %+v, not %+v", all, e)
	}
	texts(reflect.ValueOf(&e), "", func(path string, text reflect.Value) {
		if text.String() != "zinnober" {
			t.Errorf("the entry itself was changed: %s", path)
		}
	})
}

// texts calls do with each exported text in v, with the names of the fields that lead to it.
func texts(v reflect.Value, path string, do func(path string, text reflect.Value)) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			texts(v.Elem(), path, do)
		}
	case reflect.Slice:
		for i := range v.Len() {
			texts(v.Index(i), path, do)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if f := v.Type().Field(i); f.IsExported() {
				texts(v.Field(i), strings.TrimPrefix(path+"."+f.Name, "."), do)
			}
		}
	case reflect.String:
		do(path, v)
	}
}
