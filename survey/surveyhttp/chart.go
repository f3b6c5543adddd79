package surveyhttp

import (
	"fmt"
	"html/template"
	"strings"
	"time"
)

// point is a figure of a time.
type point struct {
	on    time.Time
	value float64
}

// chart is a line over time. Its picture is stretched to the page, so that the texts stand beside it.
type chart struct {
	Name, Of             string
	Least, Middle, Most  string // of the axis upwards
	First, Between, Last string // of the axis to the right
	Picture              template.HTML
}

// chartOf draws a column in the units of a square of 100: a line with a dot at each point.
func chartOf(c column, points []point) *chart {
	f := c.figure
	at := func(share float64) string { return f.write(f.least+share*(f.most-f.least), true) }
	first, last := points[0].on, points[len(points)-1].on
	out := &chart{Name: c.Name, Of: c.Of, Least: at(0), Middle: at(.5), Most: at(1), First: day(first)}
	if last.After(first) {
		out.Last = day(last)
	}
	if len(points) > 2 {
		out.Between = day(first.Add(last.Sub(first) / 2))
	}
	var line, dots strings.Builder
	for _, p := range points {
		x, y := 50.0, 100*(f.most-p.value)/max(f.most-f.least, 1)
		if span := last.Sub(first); span > 0 {
			x = 1 + 98*float64(p.on.Sub(first))/float64(span)
		}
		fmt.Fprintf(&line, "%.2f,%.2f ", x, y)
		fmt.Fprintf(&dots, "M%.2f %.2fh0", x, y)
	}
	out.Picture = template.HTML(fmt.Sprintf(`<svg viewBox="0 0 100 100" preserveAspectRatio="none" role="presentation" aria-hidden="true">`+ //nolint:gosec // numbers only
		`<path class="grid" d="M0 0h100M0 50h100M0 100h100"/><polyline points="%s"/><path class="dot" d="%s"/></svg>`, strings.TrimSpace(line.String()), dots.String()))
	return out
}
