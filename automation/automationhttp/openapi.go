package automationhttp

import (
	"bytes"
	_ "embed" // openapi.json
)

//go:embed openapi.json
var openAPI []byte

// OpenAPI is the description of [ReportRuns] in OpenAPI 3.1, as JSON. It names no
// server and no security scheme: both are the host's.
func OpenAPI() []byte { return bytes.Clone(openAPI) }
