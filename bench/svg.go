package main

import (
	"fmt"
	"html"
	"strings"
)

// The colours of the pictures, readable on the white ground that they bring with
// them whatever the page's theme.
const (
	ink    = "#1f2328"
	faint  = "#59636e"
	rule   = "#d1d9e0"
	good   = "#0969da"
	behind = "#bc4c00"
	second = "#8250df"
)

// svg is a picture in the making.
type svg struct {
	width, height float64
	title, desc   string
	body          strings.Builder
}

func (s *svg) rect(x, y, width, height float64, colour string) {
	fmt.Fprintf(&s.body, `<rect x="%.1f" y="%.1f" width="%.1f" height="%.1f" fill="%s"/>`+"\n", x, y, width, height, colour)
}

func (s *svg) line(x1, y1, x2, y2 float64, colour, more string) {
	fmt.Fprintf(&s.body, `<line x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f" stroke="%s"%s/>`+"\n", x1, y1, x2, y2, colour, more)
}

func (s *svg) circle(x, y, r float64, colour string) {
	fmt.Fprintf(&s.body, `<circle cx="%.1f" cy="%.1f" r="%.1f" fill="%s"/>`+"\n", x, y, r, colour)
}

// text stands on y, from x on or as its attributes say.
func (s *svg) text(x, y float64, colour, text, more string) {
	fmt.Fprintf(&s.body, `<text x="%.1f" y="%.1f" fill="%s"%s>%s</text>`+"\n", x, y, colour, more, html.EscapeString(text))
}

// Attributes of texts and lines.
const (
	middle = ` text-anchor="middle"`
	end    = ` text-anchor="end"`
	bold   = ` font-weight="600"`
	small  = ` font-size="12"`
	large  = ` font-size="18"`
	dashed = ` stroke-dasharray="5 4"`
	thick  = ` stroke-width="2"`
	halo   = ` paint-order="stroke" stroke="#ffffff" stroke-width="4" stroke-linejoin="round"`
)

func (s *svg) String() string {
	return fmt.Sprintf(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %.0f %.0f" width="%.0f" height="%.0f" role="img" aria-labelledby="title desc"
 font-family="system-ui, -apple-system, 'Segoe UI', Helvetica, Arial, sans-serif" font-size="14">
<title id="title">%s</title>
<desc id="desc">%s</desc>
<rect width="%.0f" height="%.0f" rx="8" fill="#ffffff"/>
%s</svg>
`, s.width, s.height, s.width, s.height, html.EscapeString(s.title), html.EscapeString(s.desc), s.width, s.height, s.body.String())
}
