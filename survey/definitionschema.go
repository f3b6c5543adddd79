package survey

import (
	"bytes"
	_ "embed" // definition.schema.json
)

//go:embed definition.schema.json
var definitionSchema []byte

// DefinitionSchema is the JSON Schema of definitions (draft 2020-12), for editors and
// other programs. It accepts whatever [Validate] accepts. Validate refuses more: what
// depends on several places, such as an id that is there twice, a question that is
// asked about before it was asked, and a template that does not parse.
func DefinitionSchema() []byte { return bytes.Clone(definitionSchema) }
