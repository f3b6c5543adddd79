package survey_test

import (
	"bytes"
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/belfry-go/belfry/internal/strictjson"
	"github.com/belfry-go/belfry/survey/form"
)

// compiledSchema is the JSON Schema as an editor sees it.
var compiledSchema = sync.OnceValue(func() *jsonschema.Schema {
	text, err := jsonschema.UnmarshalJSON(bytes.NewReader(form.DefinitionSchema()))
	if err != nil {
		panic(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("definition.json", text); err != nil {
		panic(err)
	}
	return c.MustCompile("definition.json")
})

// schemaRefuses is what the JSON Schema has against a definition; nil: nothing.
func schemaRefuses(definition string) error {
	instance, err := jsonschema.UnmarshalJSON(strings.NewReader(definition))
	if err != nil {
		return err
	}
	return compiledSchema().Validate(instance)
}

// The schema refuses what Validate refuses, and nothing else, unless a schema cannot
// see it.
//
//spec:t-011
func TestTheSchemaAgreesWithValidate(t *testing.T) {
	t.Parallel()
	eachDefinition(t, func(t *testing.T, c definitionCase) {
		if c.blind && len(c.faults) == 0 {
			t.Fatal("there is nothing to be blind for")
		}
		if c.blind && !json.Valid([]byte(c.definition)) || strings.Contains(c.definition, "e999999999") {
			return // no instance of anything, and a number that the checker would write out
		}
		err := schemaRefuses(c.definition)
		if want := len(c.faults) > 0 && !c.blind; (err != nil) != want {
			t.Errorf("%.300s: %v", c.definition, err)
		}
	})
}

// The objects of a definition and where the schema has them.
var schemaObjects = map[string]reflect.Type{
	"":         reflect.TypeFor[form.Definition](),
	"question": reflect.TypeFor[form.Question](),
	"choice":   reflect.TypeFor[form.Choice](),
	"trigger":  reflect.TypeFor[form.Trigger](),
	"schedule": reflect.TypeFor[form.Schedule](),
	"route":    reflect.TypeFor[form.Route](),
	"message":  reflect.TypeFor[form.MessageText](),
	"filter":   reflect.TypeFor[form.Filter](),
}

type objectSchema struct {
	Type                 string
	AdditionalProperties *bool
	Required             []string
	Properties           map[string]json.RawMessage
	Defs                 map[string]json.RawMessage `json:"$defs"`
}

func readSchema(t *testing.T, text []byte) (s objectSchema) {
	t.Helper()
	if err := json.Unmarshal(text, &s); err != nil {
		t.Fatal(err)
	}
	return s
}

// A field that is added to a struct and not to the schema, or the other way round,
// fails here.
//
//spec:t-011
func TestEveryFieldIsInTheSchema(t *testing.T) {
	t.Parallel()
	root := readSchema(t, form.DefinitionSchema())
	for name, object := range schemaObjects {
		s := root
		if name != "" {
			s = readSchema(t, root.Defs[name])
		}
		var members, required []string
		for _, f := range strictjson.Fields(object) {
			members = append(members, f.Name)
			if f.Required {
				required = append(required, f.Name)
			}
		}
		slices.Sort(members)
		if diff := cmp.Diff(members, slices.Sorted(maps.Keys(s.Properties))); diff != "" {
			t.Errorf("%s: members (-struct +schema):\n%s", object, diff)
		}
		if diff := cmp.Diff(required, s.Required); diff != "" {
			t.Errorf("%s: required (-struct +schema):\n%s", object, diff)
		}
		if s.Type != "object" || s.AdditionalProperties == nil || *s.AdditionalProperties {
			t.Errorf("%s: the schema lets other members through", object)
		}
	}
}

// Every struct that a definition consists of is among schemaObjects.
func TestEveryStructIsInTheSchema(t *testing.T) {
	t.Parallel()
	listed := map[reflect.Type]bool{}
	for _, object := range schemaObjects {
		listed[object] = true
	}
	var visit func(reflect.Type)
	visit = func(at reflect.Type) {
		switch at.Kind() {
		case reflect.Pointer, reflect.Slice:
			visit(at.Elem())
		case reflect.Struct:
			if !listed[at] {
				t.Errorf("%s is not", at)
			}
			if at == reflect.TypeFor[form.Filter]() {
				return // holds itself
			}
			for _, f := range strictjson.Fields(at) {
				visit(f.Type)
			}
		}
	}
	visit(reflect.TypeFor[form.Definition]())
}

func TestTheSchemaIsTheCallersOwn(t *testing.T) {
	t.Parallel()
	form.DefinitionSchema()[0] = 'x'
	if got := form.DefinitionSchema()[0]; got != '{' {
		t.Errorf("it begins with %q", got)
	}
}
