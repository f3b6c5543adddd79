package render

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
)

// both parses a template in both ways.
func both(t testing.TB, text string) map[string]*Template {
	t.Helper()
	out := map[string]*Template{}
	for kind, parse := range map[string]func(string, string) (*Template, error){"text": Text, "HTML": HTML} {
		tmpl, err := parse("t", text)
		if err != nil {
			t.Fatal(kind, err)
		}
		out[kind] = tmpl
	}
	return out
}

var sample = map[string]any{"N": int64(3_000_000_000), "Name": "Sam", "Rows": []any{"a", "b"}, "In": map[string]any{"X": "y"}, "Long": strings.Repeat("x", 4000)}

func TestWhatEndsIsRenderedAsEver(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                              "",
		"Dear {{.Name}},":               "Dear Sam,",
		"{{range .Rows}}<{{.}}>{{end}}": "<a><b>",
		"{{range $i, $r := .Rows}}{{$i}}{{$r}}{{else}}none{{end}}":                 "0a1b",
		"{{range .None}}x{{else}}none{{end}}":                                      "none",
		"{{range $k, $v := .In}}{{$k}}={{$v}}{{end}}":                              "X=y",
		"{{with .In}}{{.X}}{{end}}":                                                "y",
		"{{if and .Name (eq .Name \"Sam\")}}1{{else}}2{{end}}":                     "1",
		`{{printf "%05.2f|%-4s|%d" 1.5 .Name 7}}`:                                  "01.50|Sam |7",
		`{{print .Name 1 2}} {{len .Rows}} {{index .Rows 1}}`:                      "Sam1 2 2 b",
		`{{define "a"}}[{{.}}]{{end}}{{template "a" .Name}}{{template "a" 1}}`:     "[Sam][1]",
		"{{range .Rows}}{{if eq . \"a\"}}{{continue}}{{end}}{{.}}{{break}}{{end}}": "b",
		"a{{- /* c */ -}}b": "ab",
	} {
		data := map[string]any{"None": []any{}}
		for k, v := range sample {
			data[k] = v
		}
		got, err := both(t, text)["text"].Execute(t.Context(), data, 1<<10)
		if err != nil || got != want {
			t.Errorf("%s: %q, %v", text, got, err)
		}
	}
	got, err := both(t, `<a href="/{{.Name}}" {{if .Name}}class="x"{{end}} onclick="f({{.Rows}})">{{range .Rows}}{{.}}&{{end}}</a><script>var x = {{if .N}}{{.N}}{{end}};</script>`)["HTML"].Execute(t.Context(), sample, 1<<10)
	if want := `<a href="/Sam" class="x" onclick="f([&#34;a&#34;,&#34;b&#34;])">a&b&</a><script>var x =  3000000000 ;</script>`; err != nil || got != want {
		t.Errorf("%q, %v", got, err)
	}
}

// greedy are templates without an end, or whose end nobody waits for.
var greedy = map[string]string{
	"a range over a count":        "{{range 3000000000}}{{end}}",
	"a range over data's count":   "{{range .N}}{{end}}",
	"ranges in one another":       `{{range .Long | printf "%s" | len}}{{end}}`,
	"rows in rows":                strings.Repeat("{{range $.All}}", 4) + strings.Repeat("{{end}}", 4),
	"doubling":                    `{{$x := "aaaaaaaa"}}` + strings.Repeat(`{{$x = printf "%s%s" $x $x}}`, 40),
	"doubling by print":           `{{$x := "aaaaaaaa"}}` + strings.Repeat(`{{$x = print $x $x}}`, 40),
	"a width":                     `{{printf "%1000000000d" 1}}`,
	"a width in data":             `{{printf "%*d" .N 1}}`,
	"a precision":                 `{{printf "%.1000000f" 1.0}}`,
	"an argument many times":      `{{printf "` + strings.Repeat("%[1]s", 1000) + `" .Long}}`,
	"many arguments":              `{{print ` + strings.Repeat(".Long ", 1000) + `}}`,
	"many comparisons":            `{{range $.All}}{{if eq $.Long ` + strings.Repeat(`$.Name `, 1000) + `}}{{end}}{{end}}`,
	"itself":                      `{{define "x"}}{{template "x" .}}{{end}}{{template "x" .}}`,
	"each twice":                  `{{define "a"}}{{template "b" .}}{{template "b" .}}{{end}}{{define "b"}}{{template "a" .}}{{template "a" .}}{{end}}{{template "a" .}}`,
	"the function of the measure": `{{range $.All}}{{if belfryStep -1000000}}{{end}}{{end}}`,
}

func TestWhateverATemplateSaysItEnds(t *testing.T) {
	// Not parallel: it counts what is allocated.
	data := map[string]any{"All": make([]any, 1000)}
	for k, v := range sample {
		data[k] = v
	}
	for name, text := range greedy {
		for kind, tmpl := range both(t, text) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			out, err := tmpl.Execute(t.Context(), data, 64<<10)
			runtime.ReadMemStats(&after)
			if !errors.Is(err, ErrLimit) {
				t.Errorf("%s as %s: %d bytes, %v", name, kind, len(out), err)
			}
			if used := after.TotalAlloc - before.TotalAlloc; used > 16<<20 {
				t.Errorf("%s as %s: %d bytes were allocated", name, kind, used)
			}
		}
	}
}

func TestStepsAreCounted(t *testing.T) {
	t.Parallel()
	rows := make([]any, 300)
	for kind, tmpl := range both(t, "{{range .}}{{range $}}{{end}}{{end}}") {
		if _, err := tmpl.Execute(t.Context(), rows[:100], 100); err != nil {
			t.Errorf("10,000 rows as %s: %v", kind, err)
		}
		if _, err := tmpl.Execute(t.Context(), rows, 100); !errors.Is(err, ErrLimit) {
			t.Errorf("90,000 rows as %s: %v", kind, err)
		}
	}
}

// What runs once at most costs nothing on top, and is counted all the same.
func TestWhatRunsOnceIsCountedAtOnce(t *testing.T) {
	// Not parallel: it counts what is allocated.
	straight := strings.Repeat("{{if .Yes}}x{{else}}y{{end}}", 500)
	for kind, allocated := range map[string]func(string) float64{
		"text": func(text string) float64 { return rendering(t, Text, text) },
		"HTML": func(text string) float64 { return rendering(t, HTML, text) },
	} {
		once, again := allocated(straight), allocated(straight+"{{define \"u\"}}{{end}}{{template \"u\"}}")
		if once > again/2 {
			t.Errorf("%s: %v allocations, and %v where a template runs another", kind, once, again)
		}
	}
	for kind, tmpl := range both(t, strings.Repeat("{{.}}", 26_000)) {
		if _, err := tmpl.Execute(t.Context(), "", 100); !errors.Is(err, ErrLimit) {
			t.Errorf("52,000 steps as %s: %v", kind, err)
		}
	}
}

// rendering counts the allocations of one execution.
func rendering(t *testing.T, parse func(string, string) (*Template, error), text string) float64 {
	t.Helper()
	tmpl, err := parse("t", text)
	if err != nil {
		t.Fatal(err)
	}
	return testing.AllocsPerRun(10, func() {
		if _, err := tmpl.Execute(t.Context(), map[string]any{"Yes": true}, 64<<10); err != nil {
			t.Fatal(err)
		}
	})
}

func TestAFunctionMakesSoMuch(t *testing.T) {
	t.Parallel()
	for kind, tmpl := range both(t, `{{$x := .}}{{$x = print $x $x}}{{$x = printf "%s%s" $x $x}}{{len $x}}`) {
		if out, err := tmpl.Execute(t.Context(), strings.Repeat("x", 1000), 100); err != nil || out != "4000" {
			t.Errorf("%s: %q, %v", kind, out, err)
		}
		if out, err := tmpl.Execute(t.Context(), strings.Repeat("x", 8000), 100); !errors.Is(err, ErrLimit) {
			t.Errorf("%s: %q, %v", kind, out, err)
		}
	}
}

// Not even a short one: what is not a list has no rows.
func TestRangesOverCounts(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"{{range 3}}x{{end}}", "{{range .Two}}x{{end}}", "{{range .Name}}x{{end}}"} {
		for kind, tmpl := range both(t, text) {
			if out, err := tmpl.Execute(t.Context(), map[string]any{"Two": int64(2), "Name": "Sam"}, 100); !errors.Is(err, ErrLimit) {
				t.Errorf("%s as %s: %q, %v", text, kind, out, err)
			}
		}
	}
}

func TestASourceIsBounded(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"long":        strings.Repeat("x", MaxSource+1),
		"parentheses": "{{if " + strings.Repeat("(", 100_000) + "}}{{end}}",
		"ranges":      strings.Repeat("{{range .}}", 5) + strings.Repeat("{{end}}", 5),
		"ifs":         strings.Repeat("{{if .}}", 60) + strings.Repeat("{{end}}", 60),
	} {
		for kind, parse := range map[string]func(string, string) (*Template, error){"text": Text, "HTML": HTML} {
			if _, err := parse("t", text); !errors.Is(err, ErrLimit) {
				t.Errorf("%s as %s: %v", name, kind, err)
			}
		}
	}
	if _, err := Text("t", strings.Repeat("(", 1000)+"{{(.)}}"); err != nil {
		t.Error(err)
	}
}

func TestATemplateEndsWithItsContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for kind, tmpl := range both(t, "x{{range .Rows}}{{end}}") {
		if _, err := tmpl.Execute(ctx, sample, 100); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", kind, err)
		}
		if out, err := tmpl.Execute(t.Context(), sample, 100); err != nil || out != "x" {
			t.Errorf("%s afterwards: %q, %v", kind, out, err)
		}
	}
}

func TestManyRenderAtOnce(t *testing.T) {
	t.Parallel()
	tmpl := both(t, "{{range .Rows}}{{.}}{{end}} {{.Name}}")["HTML"]
	done := make(chan error)
	for i := range 8 {
		go func() {
			for range 100 {
				got, err := tmpl.Execute(t.Context(), map[string]any{"Rows": []any{"a"}, "Name": i}, 100)
				if err != nil || got != fmt.Sprint("a ", i) {
					done <- fmt.Errorf("%q, %w", got, err)
					return
				}
			}
			done <- nil
		}()
	}
	for range 8 {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}

// FuzzTemplate holds the bounds for any text: 16 MB and a counted number of steps.
func FuzzTemplate(f *testing.F) {
	for _, text := range greedy {
		f.Add(text)
	}
	f.Add("{{range .Rows}}{{.}}{{end}}")
	f.Fuzz(func(t *testing.T, text string) {
		for _, parse := range []func(string, string) (*Template, error){Text, HTML} {
			tmpl, err := parse("t", text)
			if err != nil {
				continue
			}
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			out, err := tmpl.Execute(t.Context(), sample, 64<<10)
			runtime.ReadMemStats(&after)
			if used := after.TotalAlloc - before.TotalAlloc; used > 16<<20 {
				t.Errorf("%d bytes were allocated: %v", used, err)
			}
			in, _ := tmpl.idle.Get().(*instance)
			if in != nil && in.meter.steps > 2*maxSteps+MaxSource || len(out) > 64<<10 {
				t.Errorf("%d bytes: %v", len(out), err)
			}
		}
	})
}
