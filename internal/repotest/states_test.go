package repotest

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/belfry-go/belfry/automation"
	"github.com/belfry-go/belfry/automation/report"
	"github.com/belfry-go/belfry/internal/outbox"
	"github.com/belfry-go/belfry/internal/states"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/notify/templates"
	"github.com/belfry-go/belfry/survey"
)

var update = flag.Bool("update", false, "write the pages")

func TestThePageOfStateMachinesIsPrintedFromTheirTables(t *testing.T) {
	t.Parallel()
	comparePage(t, "../../docs/state-machines.md", statePage())
}

// comparePage compares a page with what is printed from the code, or writes it.
func comparePage(t *testing.T, name, page string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(name, []byte(page), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	have, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(page, string(have)); diff != "" {
		t.Errorf("run `go test ./internal/repotest -update`:\n%s", diff)
	}
}

func statePage() string {
	var b strings.Builder
	b.WriteString("# State machines\n\n" +
		"Printed from the tables that the code checks every transition against\n" +
		"(`go test ./internal/repotest -update`). A claim is a transition too. Staying in\n" +
		"a state is always legal. A row on support hold keeps its state and is not due.\n")
	b.WriteString("\n## Package automation\n")
	for _, m := range automation.States() {
		printMachine(&b, m)
	}
	b.WriteString("\n## Package automation/report\n")
	for _, m := range report.States() {
		printMachine(&b, m)
	}
	b.WriteString("\n## Package notify\n")
	for _, m := range notify.States() {
		printMachine(&b, m)
	}
	b.WriteString("\n## Package notify/templates\n")
	for _, m := range templates.States() {
		printMachine(&b, m)
	}
	b.WriteString("\n## Package survey\n")
	for _, m := range survey.States() {
		printMachine(&b, m)
	}
	b.WriteString("\n## Events to subscribers\n")
	printMachine(&b, outbox.Machine)
	return b.String()
}

func printMachine(b *strings.Builder, m states.Machine) {
	fmt.Fprintf(b, "\n### %s\n\nStarts as %s.", m.Name, strings.Join(m.Start, " or "))
	if len(m.Terminal) > 0 {
		fmt.Fprintf(b, " Ends as %s.", strings.Join(m.Terminal, ", "))
	}
	b.WriteString("\n")
	if len(m.Edges) > 0 {
		b.WriteString("\n")
	}
	for _, e := range grouped(m.Edges) {
		fmt.Fprintf(b, "- %s to %s: %s\n", e.From, e.To, e.Event)
	}
}

// grouped are the edges with one line for all that share their end and their
// event; From names every beginning.
func grouped(edges []states.Edge) []states.Edge {
	var lines []states.Edge
	for _, e := range edges {
		i := slices.IndexFunc(lines, func(l states.Edge) bool { return l.To == e.To && l.Event == e.Event })
		if i < 0 {
			lines = append(lines, e)
			continue
		}
		lines[i].From += ", " + e.From
	}
	return lines
}

// I-15: from every state something terminal or a hold can be reached; what has
// no edge onwards is named as an end.
func TestI15_EveryStateLeadsToAnEnd(t *testing.T) {
	t.Parallel()
	for _, m := range slices.Concat(automation.States(), report.States(), notify.States(), templates.States(), survey.States()) {
		for _, s := range m.States() {
			if !leadsToAnEnd(m, s) {
				t.Errorf("%s: nothing leads from %s to an end", m.Name, s)
			}
		}
	}
}

func leadsToAnEnd(m states.Machine, from string) bool {
	seen, open := map[string]bool{}, []string{from}
	for len(open) > 0 {
		s := open[0]
		open = open[1:]
		if slices.Contains(m.Terminal, s) {
			return true
		}
		for _, e := range m.Edges {
			if e.From == s && !seen[e.To] {
				seen[e.To] = true
				open = append(open, e.To)
			}
		}
	}
	return false
}
