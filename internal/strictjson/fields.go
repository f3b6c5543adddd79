package strictjson

import (
	"fmt"
	"reflect"
	"strings"
)

// Field is a member that an object may have.
type Field struct {
	Name     string
	Required bool
	Index    []int // of the struct's field
	Type     reflect.Type
}

// Fields are the members of an object that is read into a struct of type t, in
// their order there.
func Fields(t reflect.Type) []Field {
	var out []Field
	for _, f := range reflect.VisibleFields(t) {
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if f.IsExported() && name != "-" && name != "" {
			required := !strings.Contains(options, "omitempty") && !strings.Contains(options, "omitzero")
			out = append(out, Field{name, required, f.Index, f.Type})
		}
	}
	return out
}

func find(fields []Field, name string) (Field, bool) {
	for _, f := range fields {
		if f.Name == name {
			return f, true
		}
	}
	return Field{}, false
}

// hint names the member that is probably meant.
func hint(fields []Field, name string) string {
	for _, f := range fields {
		if strings.EqualFold(f.Name, name) {
			return fmt.Sprintf("; it is spelled %s", f.Name)
		}
	}
	return ""
}
