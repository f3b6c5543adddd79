package supporthttp

// Routes are those of the router, as "GET story".
func Routes() (out []string) {
	for _, r := range (&site{}).routes() {
		out = append(out, r.method+" "+r.path)
	}
	return out
}
