package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"html"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// draw makes the pictures of the documentation from the JSON that compare wrote.
func draw(path, folder string) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	var entries []entry
	if err := json.Unmarshal(text, &entries); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	for name, picture := range map[string]func([]entry) (string, error){
		"performance-peers.svg":  peersPicture,
		"performance-growth.svg": growthPicture,
	} {
		drawn, err := picture(entries)
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		if err := os.WriteFile(filepath.Join(folder, name), []byte(drawn), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// goalOf finds the entry of a goal. A picture that left one out would mislead.
func goalOf(entries []entry, goal string) (entry, error) {
	for _, e := range entries {
		if e.Goal == goal {
			return e, nil
		}
	}
	return entry{}, fmt.Errorf("there is no %s", goal)
}

// grouped is figure with a comma between thousands.
func grouped(v float64) string {
	text := figure(v)
	if strings.ContainsAny(text, ".e") {
		return text
	}
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}

// peersRows are the goals that have a peer, as a reader of the picture knows them.
var peersRows = []struct{ goal, about, peer string }{
	{"P1", "PostgreSQL: claim, handle, settle", "River"},
	{"P2", "PostgreSQL: the same, 4 processes", "River"},
	{"P3-new", "PostgreSQL: bulk ensure, all new", "River"},
	{"P3-existing", "PostgreSQL: bulk ensure, all there already", "River"},
	{"P4-goqite", "SQLite: claim, handle, settle", "goqite"},
	{"P4-river", "SQLite: claim, handle, settle", "River"},
	{"P5", "PostgreSQL: inserted to handler, idle, p99", "River"},
}

// The measures of the picture: texts, then bars, then ratios.
const (
	peersWidth = 880.0
	peersTop   = 84.0
	peersRow   = 46.0
	barsLeft   = 350.0
	barsRight  = 760.0
)

// peersPicture is a bar for each goal with a peer, from one times the peer's
// figure to Belfry's. Equal lengths are equal ratios.
func peersPicture(entries []entry) (string, error) {
	bottom := peersTop + peersRow*float64(len(peersRows))
	s := &svg{width: peersWidth, height: bottom + 62, title: "Belfry beside its peers"}
	var found []entry
	rounds := 0
	for _, r := range peersRows {
		e, err := goalOf(entries, r.goal)
		if err != nil {
			return "", err
		}
		found, rounds = append(found, e), max(rounds, e.Rounds)
	}
	s.text(24, 34, ink, "Belfry beside its peers, on one server in one run", large+bold)
	s.text(24, 56, faint, fmt.Sprintf("Medians of %d rounds in which the sides took turns. To the right of 1× Belfry is ahead. Ratios on a logarithmic scale.", rounds), small)
	at := s.ratios(found, peersTop, bottom)
	for i, e := range found {
		s.peer(e, peersRows[i].about, peersRows[i].peer, peersTop+peersRow*float64(i), at)
	}
	s.line(at(1), peersTop-4, at(1), bottom, ink, thick)
	s.line(24, bottom+42, 24, bottom+54, ink, thick)
	s.text(32, bottom+52, faint, "on a bar: the floor that was promised", small)
	return s.String(), nil
}

// ratios draws the scale, and returns where a ratio is on it.
func (s *svg) ratios(found []entry, top, bottom float64) func(ratio float64) float64 {
	low, high := 0.9, 2.0
	for _, e := range found {
		low, high = min(low, e.Ratio/1.1), max(high, e.Ratio*1.1, e.Floor*1.1)
	}
	at := func(ratio float64) float64 {
		return barsLeft + (barsRight-barsLeft)*math.Log(ratio/low)/math.Log(high/low)
	}
	for _, tick := range []float64{0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100} {
		if tick >= low && tick <= high {
			s.line(at(tick), top-4, at(tick), bottom, rule, "")
			s.text(at(tick), bottom+18, faint, fmt.Sprintf("%g×", tick), middle+small)
		}
	}
	return at
}

// peer draws one row.
func (s *svg) peer(e entry, about, peer string, y float64, at func(float64) float64) {
	figures := fmt.Sprintf("Belfry %s, %s %s %s", grouped(e.Belfry), peer, grouped(e.PeerValue), e.Unit)
	if e.Unit == "ms" {
		figures += " (less is better)"
	}
	ratio := fmt.Sprintf("%.2f×", e.Ratio)
	s.text(24, y+16, ink, about, "")
	s.text(24, y+33, faint, figures, small)
	colour := good
	if e.Ratio < 1 {
		colour = behind
	}
	s.rect(min(at(1), at(e.Ratio)), y+8, math.Abs(at(e.Ratio)-at(1)), 20, colour)
	s.line(at(e.Floor), y+4, at(e.Floor), y+32, ink, thick)
	s.text(peersWidth-24, y+18, ink, ratio, end+bold)
	s.text(peersWidth-24, y+34, faint, fmt.Sprintf("floor %g×", e.Floor), end+small)
	s.desc += fmt.Sprintf("%s: %s; %s, floor %g×. ", about, figures, ratio, e.Floor)
}

// curve is the cost of a row in tables of some sizes, in microseconds.
type curve struct {
	name, colour string
	points       [][2]float64
}

// The measures of the picture.
const (
	growthWidth, growthHeight = 880.0, 445.0
	plotLeft, plotRight       = 80.0, 620.0
	plotTop, plotBottom       = 84.0, 350.0
)

// growthPicture is what a row costs against the size of its table.
func growthPicture(entries []entry) (string, error) {
	e, err := goalOf(entries, "P6")
	if err != nil {
		return "", err
	}
	alone := e.Also["alone_us/row"]
	few, tenth, many := e.Also["alone_rows"], e.Also["tenth_rows"], e.Also["rows"]
	if alone <= 0 || few <= 0 || few >= tenth || tenth >= many {
		return "", fmt.Errorf("P6 has no cost of a table alone, or no growing sizes: %v", e.Also)
	}
	start, limit := [2]float64{few, alone}, alone*growthBound
	curves := []curve{
		{"backlog in due order", good, [][2]float64{start, {tenth, alone * e.Also["tenth_backlog"]}, {many, alone * e.Also["backlog"]}}},
		{"after a long history", second, [][2]float64{start, {many, alone * e.Also["history"]}}},
		{"backlog in random order", behind, [][2]float64{start, {many, alone * e.Also["random_order_backlog"]}}},
	}
	s := &svg{width: growthWidth, height: growthHeight, title: "Cost of a row against the size of its table"}
	s.text(24, 34, ink, "What a row costs, against the size of its table", large+bold)
	s.text(24, 56, faint, fmt.Sprintf("Microseconds to claim, handle and settle a row on PostgreSQL, timed over %s rows; medians of %d rounds.", grouped(few), e.Rounds), small)
	x, y := s.plot(curves, limit)
	s.curves(curves, x, y)
	s.line(plotLeft, y(limit), plotRight, y(limit), faint, dashed)
	s.line(24, growthHeight-22, 58, growthHeight-22, faint, dashed)
	s.text(66, growthHeight-18, faint, fmt.Sprintf("the promise for due order and history: at most %g times the short table", growthBound), small)
	return s.String(), nil
}

// plot draws the scales, and returns where a size and a cost are on them.
func (s *svg) plot(curves []curve, limit float64) (x, y func(float64) float64) {
	low, high, top := math.Inf(1), 0.0, limit
	for _, c := range curves {
		for _, p := range c.points {
			low, high, top = min(low, p[0]), max(high, p[0]), max(top, p[1])
		}
	}
	step := niceStep(top / 4)
	top = math.Ceil(top*1.05/step) * step
	x = func(rows float64) float64 {
		return plotLeft + 20 + (plotRight-plotLeft-20)*math.Log(rows/low)/math.Log(high/low)
	}
	y = func(us float64) float64 { return plotBottom - (plotBottom-plotTop)*us/top }
	for us := 0.0; us <= top+step/2; us += step {
		s.line(plotLeft, y(us), plotRight, y(us), rule, "")
		s.text(plotLeft-10, y(us)+4, faint, fmt.Sprintf("%g µs", us), end+small)
	}
	for _, p := range curves[0].points {
		s.line(x(p[0]), plotBottom, x(p[0]), plotBottom+5, faint, "")
		s.text(x(p[0]), plotBottom+22, faint, grouped(p[0])+" rows", middle+small)
	}
	s.text((plotLeft+plotRight)/2, plotBottom+48, faint, "rows in the table, logarithmic", middle+small)
	return x, y
}

// niceStep is the next of 1, 2, 5, 10, … that is not less than v.
func niceStep(v float64) float64 {
	scale := math.Pow(10, math.Floor(math.Log10(v)))
	for _, n := range []float64{1, 2, 5} {
		if n*scale >= v {
			return n * scale
		}
	}
	return 10 * scale
}

// curves draws the lines and, to the right of their ends, what they are.
func (s *svg) curves(curves []curve, x, y func(float64) float64) {
	alone := curves[0].points[0]
	s.desc = fmt.Sprintf("A table of %s rows: %.1f µs a row. ", grouped(alone[0]), alone[1])
	labels := make([]float64, len(curves))
	for i, c := range curves {
		for j, p := range c.points[1:] {
			from := c.points[j]
			s.line(x(from[0]), y(from[1]), x(p[0]), y(p[1]), c.colour, thick)
			s.circle(x(p[0]), y(p[1]), 4, c.colour)
			s.desc += fmt.Sprintf("%s, %s rows: %.1f µs. ", c.name, grouped(p[0]), p[1])
		}
		labels[i] = y(c.points[len(c.points)-1][1])
	}
	s.circle(x(alone[0]), y(alone[1]), 4, ink)
	s.text(x(alone[0]), y(alone[1])+22, ink, fmt.Sprintf("%.1f µs", alone[1]), middle+small+halo)
	for _, p := range curves[0].points[1 : len(curves[0].points)-1] {
		s.text(x(p[0]), y(p[1])+22, curves[0].colour, fmt.Sprintf("%.1f µs", p[1]), middle+small+halo)
	}
	for i, at := range spread(labels, 38) {
		last := curves[i].points[len(curves[i].points)-1][1]
		s.text(plotRight+14, at, curves[i].colour, curves[i].name, bold)
		s.text(plotRight+14, at+16, faint, fmt.Sprintf("%.1f µs, %.2f times", last, last/alone[1]), small)
	}
}

// spread moves positions apart so that neighbours have at least a gap, in the
// same order, and keeps their centre.
func spread(at []float64, gap float64) []float64 {
	order := make([]int, len(at))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(at[a], at[b]) })
	out, moved := slices.Clone(at), 0.0
	for i := 1; i < len(order); i++ {
		if least := out[order[i-1]] + gap; out[order[i]] < least {
			moved += least - out[order[i]]
			out[order[i]] = least
		}
	}
	for i := range out {
		out[i] -= moved / float64(len(out))
	}
	return out
}

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
