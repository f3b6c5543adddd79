package supporthttp

// OpenAPI is the document.
func OpenAPI() []byte { return openAPI((&site{}).routes()) }

// Routes are those of the router, as "GET story".
func Routes() (out []string) {
	for _, r := range (&site{}).routes() {
		out = append(out, r.method+" "+r.path)
	}
	return out
}
