package supporthttp

import (
	"encoding/json"
	"reflect"
	"strings"
	"time"

	"github.com/belfry-go/belfry/internal/httpapi"
	"github.com/belfry-go/belfry/support"
)

// object is one of a JSON document.
type object map[string]any

// document answers with what the API takes and gives.
func (s *site) document(c *call) {
	c.w.Header().Set("Content-Type", "application/json")
	_, _ = c.w.Write(openAPI(s.routes())) // the client is gone
}

// openAPI is the document of the API, as OpenAPI 3.1. It is made of the table that makes
// the router.
func openAPI(routes []route) []byte {
	schemas := object{}
	problem := content("application/problem+json", schemaOf(schemas, reflect.TypeFor[httpapi.Problem]()))
	paths := object{}
	for _, r := range routes {
		if r.gives == nil {
			continue // a page
		}
		op := object{
			"summary": r.says, "operationId": strings.ToLower(r.method) + strings.Replace(r.path, api, "-", 1),
			"responses": object{
				"200":     object{"description": "the answer", "content": content("application/json", schemaOf(schemas, reflect.TypeOf(r.gives)))},
				"default": object{"description": "a refusal, as RFC 9457 has it", "content": problem},
			},
		}
		params := []object{parameter("query", "tenant")}
		for _, name := range r.takes {
			params = append(params, parameter("query", name))
		}
		if r.acts {
			params = append(params, parameter("header", "Idempotency-Key"))
		}
		if r.body != nil {
			op["requestBody"] = object{"required": true, "content": content("application/json", schemaOf(schemas, reflect.TypeOf(r.body)))}
		}
		op["parameters"] = params
		paths["/"+r.path] = object{strings.ToLower(r.method): op}
	}
	text, err := json.MarshalIndent(object{
		"openapi": "3.1.0",
		"info": object{"title": "Belfry support", "version": "1", "description": "What happened to whom and why, what waits for a person, and what support does about it. " +
			"A caller needs a right for each: to read, for each action, to see personal data, to name other tenants. " +
			"Keys and places in lists that begin with ~ are sealed: they identify their rows and reveal nothing."},
		"servers": []object{{"url": "."}}, "paths": paths, "components": object{"schemas": schemas},
	}, "", "  ")
	if err != nil {
		panic(err) // it consists of texts
	}
	return text
}

func content(media string, schema object) object { return object{media: object{"schema": schema}} }

// said are the parameters in words.
var said = map[string]string{
	"tenant": "another tenant than the caller's own, for callers who may name one", "after": "where the page begins: after of the previous page", "limit": "at most so many rows, 1 to 100",
	"from": "of messages: those made on this day of the caller's zone and later, as 2026-04-17, the newest first; of reminders: those planned for it and later", "to": "the last day", "channel": "of messages: the key of their channel", "unit": "of messages: their business unit",
	"state":      "of messages: Arrived, Sent, Sending, Waiting, Failed, Unknown, OnHold, Blocked, Expired or Skipped, or Missing for those that their recipient should have got and did not",
	"everywhere": "true: of all tenants, for callers who may see them", "person": "the host's id of a person", "method": "with address: email, sms", "address": "with method: what went there and names no recipient; sealed, as a search gives it",
	"type": "of an entity; of a verdict, what the person should have got; of messages", "id": "with type: an entity", "key": "of a reminder, or of a survey's link", "message": "our id of a message", "provider": "the provider's id of a message",
	"kind": "of the cause", "domain": "of the cause", "table": "of the cause", "reason": "of the cause", "name": "of the cause",
	"Idempotency-Key": "an id that the caller makes up: for a week a repeated request gets the first answer and does nothing, and another request with the same id is refused with 422",
}

func parameter(in, name string) object {
	return object{"name": name, "in": in, "description": said[name], "schema": object{"type": "string"}}
}

// words of a type, which the document lists.
var enums = map[reflect.Type][]string{
	reflect.TypeFor[support.Action]():  texts(support.Actions()),
	reflect.TypeFor[support.State]():   texts(support.States()),
	reflect.TypeFor[support.Outcome](): texts([]support.Outcome{support.Planned, support.UnderWay, support.Sent, support.Reached, support.Withheld, support.Failed, support.NeedsYou}),
}

func texts[T ~string](all []T) (out []string) {
	for _, t := range all {
		out = append(out, string(t))
	}
	return out
}

// schemaOf is the schema of a type as encoding/json writes it; those of structs are among
// schemas, by their names.
func schemaOf(schemas object, t reflect.Type) object {
	switch {
	case t == reflect.TypeFor[time.Time]():
		return object{"type": "string", "format": "date-time"}
	case t.Kind() == reflect.Pointer:
		return schemaOf(schemas, t.Elem())
	case t.Kind() == reflect.Slice:
		return object{"type": "array", "items": schemaOf(schemas, t.Elem())}
	case t.Kind() == reflect.Bool:
		return object{"type": "boolean"}
	case t.Kind() == reflect.Int:
		return object{"type": "integer"}
	case t.Kind() == reflect.String:
		if words := enums[t]; words != nil {
			return object{"type": "string", "enum": words}
		}
		return object{"type": "string"}
	case t.Kind() != reflect.Struct:
		panic("supporthttp: no schema for " + t.String())
	}
	if _, known := schemas[t.Name()]; !known {
		schemas[t.Name()] = nil // it may name itself
		properties, required := object{}, []string{}
		for i := range t.NumField() {
			name, options, _ := strings.Cut(t.Field(i).Tag.Get("json"), ",")
			properties[name] = schemaOf(schemas, t.Field(i).Type)
			if !strings.Contains(options, "omit") {
				required = append(required, name)
			}
		}
		schemas[t.Name()] = object{"type": "object", "properties": properties, "required": required, "additionalProperties": false}
	}
	return object{"$ref": "#/components/schemas/" + t.Name()}
}
