package main

import (
	"cmp"
	"fmt"
	"math"
	"slices"
)

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
