package automationhttp_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/belfry-go/belfry/automation/automationhttp"
	"github.com/belfry-go/belfry/internal/strictjson"
)

// media says what a body of one media type is.
type media map[string]struct{ Schema map[string]string }

type operation struct {
	OperationID string
	RequestBody struct{ Content media }
	Responses   map[string]struct {
		Ref     string `json:"$ref"`
		Content media
	}
}

// api is the part of the OpenAPI file that is looked at here.
type api struct {
	OpenAPI    string
	Paths      map[string]map[string]operation
	Components struct {
		Responses map[string]struct{ Content media }
		Schemas   map[string]struct {
			Type       string
			Required   []string
			Properties map[string]map[string]any
		}
	}
}

var file = sync.OnceValue(func() (doc api) {
	if err := json.Unmarshal(automationhttp.OpenAPI(), &doc); err != nil {
		panic(err)
	}
	return doc
})

// schema compiles a schema of the file, such as "#/components/schemas/Run", which in
// OpenAPI 3.1 is a JSON Schema.
func schema(ref string) *jsonschema.Schema {
	text, err := jsonschema.UnmarshalJSON(bytes.NewReader(automationhttp.OpenAPI()))
	if err != nil {
		panic(err)
	}
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	if err := c.AddResource("openapi.json", text); err != nil {
		panic(err)
	}
	return c.MustCompile("openapi.json" + ref)
}

// documented compares an answer with the file. Addresses and methods that are none
// are not in it.
func documented(t *testing.T, r *http.Request, a answer) {
	t.Helper()
	_, pattern := muxOfFile().Handler(r)
	method, path, found := strings.Cut(pattern, " ")
	if !found {
		if a.Status != http.StatusNotFound && a.Status != http.StatusMethodNotAllowed && a.Status != http.StatusUnauthorized && a.Status != http.StatusForbidden {
			t.Errorf("%s %s: %d, and it is in no file", r.Method, r.URL.Path, a.Status)
		}
		fits(t, "#/components/schemas/Problem", a.Body)
		return
	}
	said, ok := file().Paths[path][strings.ToLower(method)].Responses[strconv.Itoa(a.Status)]
	if name, isRef := strings.CutPrefix(said.Ref, "#/components/responses/"); isRef {
		said.Content = file().Components.Responses[name].Content
	}
	content, has := said.Content[a.Header.Get("Content-Type")]
	if !ok || !has {
		t.Errorf("%s: %d with %q is not in the file: %s", pattern, a.Status, a.Header.Get("Content-Type"), a.Body)
		return
	}
	fits(t, content.Schema["$ref"], a.Body)
}

func fits(t *testing.T, ref, body string) {
	t.Helper()
	instance, err := jsonschema.UnmarshalJSON(strings.NewReader(body))
	if err == nil {
		err = schema(ref).Validate(instance)
	}
	if err != nil {
		t.Errorf("%s is not as %s: %v", body, ref, err)
	}
}

// muxOfFile knows the routes of the file and nothing else.
var muxOfFile = sync.OnceValue(func() *http.ServeMux {
	mux := http.NewServeMux()
	for path, methods := range file().Paths {
		for method := range methods {
			mux.HandleFunc(strings.ToUpper(method)+" "+path, func(http.ResponseWriter, *http.Request) {})
		}
	}
	return mux
})

// Every route and method is in the file, and nothing else.
func TestTheOpenAPIFileHasEveryRoute(t *testing.T) {
	t.Parallel()
	var wanted, got, ids []string
	for _, r := range automationhttp.Routes() {
		wanted = append(wanted, r[0]+" "+r[1])
	}
	for path, methods := range file().Paths {
		for method, o := range methods {
			got = append(got, strings.ToUpper(method)+" "+path)
			ids = append(ids, o.OperationID)
		}
	}
	slices.Sort(wanted)
	slices.Sort(got)
	if diff := cmp.Diff(wanted, got); diff != "" {
		t.Errorf("routes (-router +file):\n%s", diff)
	}
	if slices.Sort(ids); len(slices.Compact(ids)) != len(wanted) || slices.Contains(ids, "") {
		t.Error(ids)
	}
	if !strings.HasPrefix(file().OpenAPI, "3.1.") {
		t.Error(file().OpenAPI)
	}
}

// A field that is added to a struct and not to the file, or the other way round, or
// that is of another type there, fails here.
func TestTheOpenAPIFileHasEveryField(t *testing.T) {
	t.Parallel()
	schemas := file().Components.Schemas
	if diff := cmp.Diff(slices.Sorted(maps.Keys(automationhttp.Bodies)), slices.Sorted(maps.Keys(schemas))); diff != "" {
		t.Errorf("schemas (-structs +file):\n%s", diff)
	}
	names := map[reflect.Type]string{}
	for name, body := range automationhttp.Bodies {
		names[body] = name
	}
	for name, body := range automationhttp.Bodies {
		want, got := map[string]string{}, map[string]string{}
		var required []string
		for _, f := range strictjson.Fields(body) {
			want[f.Name] = kind(f.Type, names)
			if f.Required {
				required = append(required, f.Name)
			}
		}
		for member, says := range schemas[name].Properties {
			got[member] = kindSaid(says)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-struct +file):\n%s", name, diff)
		}
		if diff := cmp.Diff(required, schemas[name].Required); diff != "" || schemas[name].Type != "object" {
			t.Errorf("%s: required (-struct +file):\n%s", name, diff)
		}
	}
}

// kind is what a type is called in the file.
func kind(t reflect.Type, names map[reflect.Type]string) string {
	switch {
	case t == reflect.TypeFor[time.Time]():
		return "string date-time"
	case t == reflect.TypeFor[json.RawMessage]():
		return "anything"
	case names[t] != "":
		return names[t]
	case t.Kind() == reflect.Slice:
		return "array of " + kind(t.Elem(), names)
	case t.Kind() == reflect.Pointer:
		return kind(t.Elem(), names)
	case t.Kind() == reflect.Bool:
		return "boolean"
	case t.Kind() == reflect.Int, t.Kind() == reflect.Int64:
		return "integer"
	}
	return t.Kind().String()
}

// kindSaid is what the file says about a member.
func kindSaid(says map[string]any) string {
	if ref, ok := says["$ref"].(string); ok {
		return strings.TrimPrefix(ref, "#/components/schemas/")
	}
	if items, ok := says["items"].(map[string]any); ok {
		return fmt.Sprint(says["type"], " of ", kindSaid(items))
	}
	if says["type"] == nil {
		return "anything"
	}
	if says["format"] != nil {
		return fmt.Sprint(says["type"], " ", says["format"])
	}
	return fmt.Sprint(says["type"])
}

// Every reference of the file leads somewhere.
func TestTheOpenAPIFileIsWhole(t *testing.T) {
	t.Parallel()
	var tree any
	if err := json.Unmarshal(automationhttp.OpenAPI(), &tree); err != nil {
		t.Fatal(err)
	}
	used := map[string]bool{}
	references(tree, used)
	for ref := range used {
		at := tree
		for _, step := range strings.Split(strings.TrimPrefix(ref, "#/"), "/") {
			node, _ := at.(map[string]any)
			at = node[step]
		}
		if at == nil {
			t.Errorf("%s leads nowhere", ref)
		}
	}
	for kind, named := range map[string][]string{"responses": slices.Collect(maps.Keys(file().Components.Responses)), "schemas": slices.Collect(maps.Keys(file().Components.Schemas))} {
		for _, name := range named {
			if !used["#/components/"+kind+"/"+name] {
				t.Errorf("%s %s is used nowhere", kind, name)
			}
		}
	}
}

func references(node any, into map[string]bool) {
	switch n := node.(type) {
	case map[string]any:
		for name, v := range n {
			if ref, ok := v.(string); ok && name == "$ref" {
				into[ref] = true
			}
			references(v, into)
		}
	case []any:
		for _, v := range n {
			references(v, into)
		}
	}
}
