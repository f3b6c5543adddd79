// Package tabletest prints the table in docs/channels.md from what channels declare.
// Those of this module are printed by repotest; one in a module of its own has a test that
// holds its line.
package tabletest

import (
	"fmt"
	"strings"

	"github.com/belfry-go/belfry/notify/channel"
)

// Head begins the table.
const Head = "| channel | a process dies in a call: the message | reports | sends beside text | calls at once |\n"

// Row is one line of the table, as its channel declares itself.
func Row(c channel.Channel) string {
	can := channel.CapabilitiesOf(c)
	doubt := "waits for a person, or the type's `InDoubt`"
	switch {
	case can.Lookup:
		doubt = "is asked about"
	case can.Idempotent > 0:
		doubt = fmt.Sprintf("is sent again within %.0f hours, as the same", can.Idempotent.Hours())
	case can.Callbacks:
		doubt = "waits for a report, a person, or the type's `InDoubt`"
	}
	var sends []string
	for what, does := range []bool{can.Attachments, can.Mail, can.Push, can.Template} {
		if does {
			sends = append(sends, []string{"attachments", "copies, threads, headers", "collapse keys, end of validity", "templates"}[what])
		}
	}
	if can.Batch > 0 {
		sends = append(sends, fmt.Sprintf("batches of %d", can.Batch))
	}
	reports, calls := "", ""
	if can.Callbacks {
		reports = "yes"
	}
	if b, ok := c.(channel.Bounded); ok {
		calls = fmt.Sprint(b.MaxCalls())
	}
	return strings.Join(strings.Fields(fmt.Sprintf("| `%s` | %s | %s | %s | %s |", c.Key(), doubt, reports, strings.Join(sends, ", "), calls)), " ") + "\n"
}
