package surveyhttp

import (
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"html/template"
)

//go:embed page
var assets embed.FS

var (
	shippedTemplate = template.Must(template.New("form.html").ParseFS(assets, "page/*.html"))
	shippedScript   = template.JS(asset("page/form.js"))
	shippedStyle    = template.CSS(asset("page/form.css"))
)

// DefaultStyle is the style sheet that comes with the package.
func DefaultStyle() template.CSS { return shippedStyle }

func asset(name string) string {
	text, err := assets.ReadFile(name)
	if err != nil {
		panic(err)
	}
	return string(text)
}

// contentPolicy allows a page its own script and style sheet, by their hashes, and
// nothing else that is inline; pictures and requests only to where it came from;
// and no frame around it.
func contentPolicy(style template.CSS) string {
	return "default-src 'none'; script-src " + hashOf(string(shippedScript)) + "; style-src " + hashOf(string(style)) +
		"; img-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
}

func hashOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}
