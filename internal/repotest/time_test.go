package repotest

import (
	"fmt"
	"go/ast"
	"go/token"
	"path"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// Real time is what a machine under load takes as it likes. So the library asks the clock it
// was given, and a test runs in a bubble of synctest, on a mock clock, or waits for a signal.
// A deadline in a test is there against hanging only, so it is a minute or more.
// A file that imports testing/synctest is passed over.
const shortest = time.Minute

// mayUseRealTime lists the files, and the folders of programs, that read the real clock, wait
// for it or set a deadline under a minute. An entry that is no longer needed is reported.
var mayUseRealTime = map[string]string{
	// Programs, and what measures or plays whole days.
	"bench/...":                               "it measures",
	"internal/contender":                      "it measures",
	"internal/drill":                          "it plays bad days on real servers",
	"internal/drill/ha":                       "it plays fail-overs of real servers",
	"examples/hello/main.go":                  "a program has the real clock",
	"examples/support-console/main.go":        "a program has the real clock",
	"support/supporthttp/pages_bench_test.go": "a benchmark measures",
	"automation/replanscale_test.go":          "nightly: it measures a plan of many",

	// Killed processes share nothing but the real clock.
	"internal/chaostest/doubt.go":      "processes",
	"internal/chaostest/forgetting.go": "processes",
	"internal/chaostest/mails.go":      "processes",

	// The other side never answers, so the time-out comes, however slow the machine is.
	"notify/channel/infobip/send_test.go":     "no answer",
	"notify/channel/postmark/send_test.go":    "no answer",
	"notify/channel/resend/send_test.go":      "no answer",
	"notify/channel/sendgrid/send_test.go":    "no answer",
	"notify/channel/smtp/classify_test.go":    "no answer",
	"notify/channel/smtp/reuse_test.go":       "an idle connection ends",
	"notify/channel/twilio/classify_test.go":  "no answer",
	"notify/channel/webhook/classify_test.go": "no answer",
	"notify/channel/webhook/ssrf_test.go":     "no answer of a resolver",
	"notify/notifyhttp/webhooks_test.go":      "a nanosecond has always passed",
	"survey/surveyhttp/example_host_test.go":  "an example of a host's server",

	// Processes that the tests start, and tests of level nightly.
	"internal/pgtest/handed.go":            "it gives a command time to end",
	"examples/http-service/main_test.go":   "a process starts again",
	"internal/pgtest/orphan_test.go":       "a server ends",
	"internal/storetest/storetest.go":      "against hanging",
	"notify/channeltest/trial.go":          "against hanging",
	"storage/internal/traptest/host.go":    "against hanging",
	"storage/internal/traptest/network.go": "time-outs of dead networks",
	"storage/internal/traptest/restart.go": "time-outs of dead networks",
}

// entry is the entry that has the file: its own, or its folder's.
func entry(f goFile) string {
	for name := range mayUseRealTime {
		if name == f.name || has(name, f.dir) {
			return name
		}
	}
	return ""
}

// The library logs by slog; these programs print.
const mayPrint = "examples/... docs/code/... internal/demo cmd/... bench/... internal/drill internal/drill/ha internal/chaostest internal/contender"

func TestOnlyTheListedFilesUseRealTime(t *testing.T) {
	t.Parallel()
	found := map[string]bool{}
	values := valuesIn(goFiles(t))
	for _, f := range goFiles(t) {
		if slices.ContainsFunc(f.tree.Imports, func(i *ast.ImportSpec) bool { return i.Path.Value == `"testing/synctest"` }) {
			continue
		}
		look := eye{f, values}
		ast.Inspect(f.tree, func(n ast.Node) bool {
			what := look.at(n)
			if what == "" {
				return true
			}
			of := entry(f)
			found[of] = true
			if of == "" {
				t.Errorf("%s: %s", f.at(n), what)
			}
			return true
		})
	}
	for name := range mayUseRealTime {
		if !found[name] {
			t.Errorf("%s no longer uses real time: delete it from mayUseRealTime in time_test.go", name)
		}
	}
}

func TestTheLibraryPrintsNothing(t *testing.T) {
	t.Parallel()
	for _, f := range goFiles(t) {
		if f.test || has(mayPrint, f.dir) {
			continue
		}
		ast.Inspect(f.tree, func(n ast.Node) bool {
			if pkg, name := f.selects(n); pkg == "fmt" && strings.HasPrefix(name, "Print") {
				t.Errorf("%s: fmt.%s writes to the host's standard output: log through slog", f.at(n), name)
			}
			return true
		})
	}
}

var clockCalls = []string{"Now", "Since", "Until", "Sleep", "After", "Tick"}

// An eye sees what in a file has to do with real time.
type eye struct {
	goFile
	values values
}

func (e eye) at(n ast.Node) string {
	pkg, name := e.selects(n)
	if pkg == "time" && slices.Contains(clockCalls, name) {
		return "time." + name + " is real time: ask the store's clock, use a bubble of synctest, or wait for a signal"
	}
	if !e.test && !isKit(e.dir) {
		return "" // the library may set any deadline
	}
	switch n := n.(type) {
	case *ast.CallExpr:
		if s, ok := n.Fun.(*ast.SelectorExpr); ok && e.realClock(s.X) && slices.Contains(clockCalls, s.Sel.Name) {
			return "a real clock's " + s.Sel.Name + ": use a mock clock or a bubble of synctest, or wait for a signal"
		}
		return e.deadline(n)
	case *ast.KeyValueExpr:
		if key, ok := n.Key.(*ast.Ident); ok && strings.HasSuffix(key.Name, "Timeout") {
			return e.short(key.Name, n.Value)
		}
	}
	return ""
}

// deadline is what is wrong with a call that sets one.
func (e eye) deadline(n *ast.CallExpr) string {
	pkg, name := e.selects(n.Fun)
	switch of := pkg + "." + name; of {
	case "context.WithTimeout", "context.WithTimeoutCause", "context.WithDeadline", "context.WithDeadlineCause":
		return e.short(of, n.Args[1])
	case "time.NewTimer", "time.AfterFunc":
		return e.short(of, n.Args[0])
	case "net.DialTimeout":
		return e.short(of, n.Args[2])
	}
	if s, ok := n.Fun.(*ast.SelectorExpr); ok && len(n.Args) == 1 && slices.Contains([]string{"SetDeadline", "SetReadDeadline", "SetWriteDeadline"}, s.Sel.Name) {
		return e.short(s.Sel.Name, n.Args[0])
	}
	return ""
}

func (e eye) short(what string, x ast.Expr) string {
	if call, ok := x.(*ast.CallExpr); ok && len(call.Args) == 1 {
		if s, ok := call.Fun.(*ast.SelectorExpr); ok && s.Sel.Name == "Add" {
			x = call.Args[0] // a point in time: now.Add(d)
		}
	}
	d, ok := e.values.of(e.goFile, x, 0)
	if !ok || d <= 0 || time.Duration(d) >= shortest {
		return ""
	}
	return fmt.Sprintf("%s ends after %v of real time, which a slow machine misses: use a bubble of synctest, end it by a signal, or set a minute or more (against hanging); a test of real time is nightly and listed in mayUseRealTime", what, time.Duration(d))
}

// realClock reports whether x is clock.New(), or a name that was set to it.
func (e eye) realClock(x ast.Expr) bool {
	if pkg, name := e.selects(x); pkg != "" {
		dir, _ := short(pkg)
		x = e.values[dir+"."+name]
	} else if id, ok := x.(*ast.Ident); ok {
		x = e.values[e.dir+"."+id.Name]
	}
	call, ok := x.(*ast.CallExpr)
	if !ok || len(call.Args) > 0 {
		return false
	}
	s, ok := call.Fun.(*ast.SelectorExpr)
	return ok && s.Sel.Name == "New" && fmt.Sprint(s.X) == "clock"
}

// selects returns the package and the name in it, where n is such a selector.
func (f goFile) selects(n ast.Node) (pkg, name string) {
	s, ok := n.(*ast.SelectorExpr)
	if !ok {
		return "", ""
	}
	x, ok := s.X.(*ast.Ident)
	if !ok {
		return "", ""
	}
	for _, i := range f.tree.Imports {
		full := strings.Trim(i.Path.Value, `"`)
		if i.Name != nil && i.Name.Name == x.Name || i.Name == nil && path.Base(full) == x.Name {
			return full, s.Sel.Name
		}
	}
	return "", ""
}

// values are what constants and variables are first set to, by folder and name.
type values map[string]ast.Expr

func valuesIn(files []goFile) values {
	v := values{}
	for _, f := range files {
		set := func(name ast.Expr, to ast.Expr) {
			if id, ok := name.(*ast.Ident); ok && v[f.dir+"."+id.Name] == nil {
				v[f.dir+"."+id.Name] = to
			}
		}
		ast.Inspect(f.tree, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.ValueSpec:
				for i := range min(len(n.Names), len(n.Values)) {
					set(n.Names[i], n.Values[i])
				}
			case *ast.AssignStmt:
				for i := range n.Lhs {
					if n.Tok == token.DEFINE && len(n.Lhs) == len(n.Rhs) {
						set(n.Lhs[i], n.Rhs[i])
					}
				}
			}
			return true
		})
	}
	return v
}

// of is the number that x stands for: a duration, in nanoseconds. Calls have none.
func (v values) of(f goFile, x ast.Expr, depth int) (float64, bool) {
	units := map[string]time.Duration{"Nanosecond": time.Nanosecond, "Microsecond": time.Microsecond, "Millisecond": time.Millisecond, "Second": time.Second, "Minute": time.Minute, "Hour": time.Hour}
	switch x := x.(type) {
	case *ast.BasicLit:
		n, err := strconv.ParseFloat(strings.ReplaceAll(x.Value, "_", ""), 64)
		return n, err == nil
	case *ast.ParenExpr:
		return v.of(f, x.X, depth)
	case *ast.SelectorExpr:
		_, name := f.selects(x)
		return float64(units[name]), units[name] > 0
	case *ast.Ident:
		to, ok := v[f.dir+"."+x.Name]
		if !ok || depth > 5 {
			return 0, false
		}
		return v.of(f, to, depth+1)
	case *ast.BinaryExpr:
		a, okA := v.of(f, x.X, depth)
		b, okB := v.of(f, x.Y, depth)
		if !okA || !okB {
			return 0, false
		}
		switch x.Op {
		case token.MUL:
			return a * b, true
		case token.QUO:
			return a / b, b != 0
		case token.ADD:
			return a + b, true
		case token.SUB:
			return a - b, true
		}
	}
	return 0, false
}
