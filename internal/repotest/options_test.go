package repotest

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// whenToChange says of each option with a number or a length of time as its default when
// another value is better. What a default is, its comment says.
var whenToChange = map[string]string{
	"belfry.Options.Batch":       "rarely: 500 did a tenth less, 2000 was no faster",
	"belfry.Options.Interval":    "idle polls cost too much: one SELECT for each pass",
	"belfry.Options.Lease":       "lower: faster take-over after crashes; higher: long pauses of the machine",
	"belfry.Options.Concurrency": "higher: handlers wait for a network; lower: your code or provider bears less",
	"belfry.Options.InFlight":    "lower: memory is short",
	"belfry.Options.Grace":       "lower: your orchestrator kills sooner; higher: calls take longer",
	"belfry.Options.Lanes":       "a process should serve some lanes only",

	"belfry.Retention.Reminders": "your law, or your support, needs them for a shorter or longer time",
	"belfry.Retention.Messages":  "as Reminders",
	"belfry.Retention.Inbox":     "as Reminders",
	"belfry.Retention.Events":    "subscribers are replayed from further back",
	"belfry.Retention.Surveys":   "as Reminders; a contact rule looks back further",
	"belfry.Retention.Responses": "your law says when answers have to go",
	"belfry.Retention.Audit":     "your law says when it has to go",

	"notify.Options.Concurrency":     "higher: many messages of one channel wait, and the provider bears more calls",
	"notify.Options.CallTimeout":     "higher: unknown outcomes without crashes; lower: a channel that hangs",
	"notify.Options.AttachmentBytes": "lower: memory is short",
	"notify.Options.UnclaimedAfter":  "higher: deployments with two versions take longer",

	"automation.Options.UnclaimedAfter": "as notify's",
	"report.Options.Keep":               "linked files should live shorter, or longer",

	"notifyhttp.WebhookOptions.MaxBody":     "a provider sends larger batches",
	"notifyhttp.WebhookOptions.Concurrency": "higher: callbacks are answered with 503 under load",
	"notifyhttp.WebhookOptions.Timeout":     "higher: a slow database; lower: the provider waits less",

	"pgx.Options.IOTimeout":         "as postgres's",
	"postgres.Options.MaxOpenConns": "higher: several pollers, or your own code, share the pool",
	"postgres.Options.IOTimeout":    "lower: fail-overs should be noticed sooner; higher: statements of yours take longer",
	"sqlite.Options.BusyTimeout":    "lower: a call should rather fail than wait for another process",

	"survey.Options.ExpiryGrace": "customers should have less, or more, time to answer",
	"survey.Options.OpenPerHour": "many people share one address, such as those of a hall with one connection",
	"survey.Options.CallTimeout": "as notify's",

	"surveyhttp.APIOptions.BatchSize": "an outside timer calls rarely",
}

// ofACall are options of one call, which its comment explains.
var ofACall = regexp.MustCompile(`^(Rotate|Payload|Reconcile|Delete|CSV|Action)Options$`)

// settable are the types whose fields are options.
var settable = regexp.MustCompile(`^(\w*Options|Retention)$`)

// The page of options is printed from their comments.
func TestThePageOfOptionsIsPrintedFromTheirComments(t *testing.T) {
	t.Parallel()
	comparePage(t, "../../docs/options.md", optionsPage(t))
}

func optionsPage(t *testing.T) string {
	t.Helper()
	tables := map[string]string{}
	changed := maps.Clone(whenToChange)
	for _, f := range goFiles(t) {
		if f.test || notPublic.MatchString(f.dir) || strings.HasSuffix(f.dir, "test") {
			continue
		}
		tree, err := parser.ParseFile(token.NewFileSet(), root+"/"+f.name, nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(tree, func(n ast.Node) bool {
			if s, ok := n.(*ast.TypeSpec); ok && settable.MatchString(s.Name.Name) && !ofACall.MatchString(s.Name.Name) {
				if fields, ok := s.Type.(*ast.StructType); ok && (s.Name.Name != "Retention" || f.dir == ".") {
					name := f.tree.Name.Name + "." + s.Name.Name
					tables[place(f.dir)+name] = fmt.Sprintf("\n## %s\n\n%s", title(f.dir, name), optionTable(t, name, strings.HasPrefix(f.dir, "notify/channel/"), fields, changed))
				}
			}
			return true
		})
	}
	for name := range changed {
		t.Errorf("whenToChange has %s, which is not an option with such a default", name)
	}
	var b strings.Builder
	b.WriteString("# Options\n\nEvery option with its type, its default and when to change it. Durations are Go's (`90 * time.Second`). Empty under\n" +
		"*default*: the zero value means none, or what the text says. Printed from the comments in the code\n" +
		"(`go test ./internal/repotest -update`); options of a single call are in its own comment.\n")
	for _, key := range slices.Sorted(maps.Keys(tables)) {
		b.WriteString(tables[key])
	}
	return b.String()
}

// place sorts the tables: what every program meets first, channels last.
func place(dir string) string {
	order := []string{".", "storage/postgres", "storage/pgx", "storage/sqlite", "storage/memory", "notify", "notify/gate", "automation", "automation/settings", "automation/report", "automation/processors", "survey"}
	if n := slices.Index(order, dir); n >= 0 {
		return fmt.Sprintf("%02d ", n)
	}
	if strings.HasPrefix(dir, "notify/channel/") {
		return "99 "
	}
	return "50 "
}

func title(dir, name string) string {
	if dir == "." {
		return name
	}
	return path.Join(path.Dir(dir), name)
}

func optionTable(t *testing.T, name string, isChannel bool, fields *ast.StructType, changed map[string]string) string {
	var b strings.Builder
	b.WriteString("| option | type | default | what it is | change it when |\n| --- | --- | --- | --- | --- |\n")
	text := ""
	for _, f := range fields.Fields.List {
		if own := plain(f.Doc.Text() + f.Comment.Text()); own != "" || !strings.Contains(text, f.Names[0].Name) {
			text = own // else it is that of the field before
		}
		for _, id := range f.Names {
			if !id.IsExported() {
				continue
			}
			fallback := defaultIn(text)
			about := firstSentence(lead.ReplaceAllString(text, ""))
			when, ok := changed[name+"."+id.Name]
			if delete(changed, name+"."+id.Name); !ok && numeric.MatchString(fallback) && !isChannel {
				t.Errorf("%s.%s has the default %s: say in whenToChange when another value is better", name, id.Name, fallback)
			}
			fmt.Fprintf(&b, "| `%s` | `%s` | %s | %s | %s |\n", id.Name, types.ExprString(f.Type), cell(fallback), cell(about), cell(when))
		}
	}
	return b.String()
}

var (
	byDefault = regexp.MustCompile(`(?i)(?:\bdefaults?:? (?:to )?|\bin a new database |\b(?:zero|nil|empty)(?: is|:) )([^;.()]+(?:\.[A-Z]\w*\(\)[^;.()]*)?)`)
	inDays    = regexp.MustCompile(`; (\d+ days)\.`)
	lead      = regexp.MustCompile(`^[A-Z]\w+ (?:is |are )?`)
	sentence  = regexp.MustCompile(`[.;:] |\.$`)
	numeric   = regexp.MustCompile(`^(\d|one (second|minute)|urgent )`)
)

func defaultIn(text string) string {
	if m := byDefault.FindStringSubmatch(text); m != nil {
		return strings.TrimSpace(m[1])
	}
	if m := inDays.FindStringSubmatch(text); m != nil {
		return m[1]
	}
	if strings.Contains(text, "by default") {
		return "for ever"
	}
	return ""
}

// firstSentence is the first sentence of a comment, or its first part, if that is long.
func firstSentence(text string) string {
	for _, end := range sentence.FindAllStringIndex(text, -1) {
		if end[0] > 20 {
			return text[:end[0]]
		}
	}
	return text
}

// cell is text that may stand in a table.
func cell(text string) string { return strings.ReplaceAll(text, "|", `\|`) }
