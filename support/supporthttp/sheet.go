package supporthttp

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"time"

	"github.com/belfry-go/belfry/internal/spreadsheet"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/support"
)

// maxSheet is how many rows a sheet has, sheetPage how many are read at once, and
// maxReads how often: a read may find none among those of other tenants.
const (
	maxSheet  = 10_000
	sheetPage = 1000
	maxReads  = 100
)

// sheet answers with the messages of some days for a spreadsheet, as the page filters them.
func (s *site) sheet(c *call) {
	f, of, ok := c.filter()
	if !ok {
		return
	}
	out := bytes.NewBufferString(spreadsheet.Mark)
	to := csv.NewWriter(out)
	_ = to.Write([]string{"time", "person", "name", "address", "type", "occasion", "channel", "state", "reason", "message"}) // a buffer takes all
	p := storage.Page{Limit: sheetPage}
	for n, reads := 0, 0; reads == 0 || p.After != "" && n < maxSheet && reads < maxReads; reads++ {
		rows, next, err := s.desk.Messages(c.r.Context(), c.scope, of, p)
		if err != nil {
			c.refuse("the messages could not be listed", err)
			return
		}
		for _, e := range rows {
			_ = to.Write(c.line(e))
		}
		n += len(rows)
		p.After = next
	}
	if p.After != "" {
		_ = to.Write([]string{"There are more messages: choose fewer days."})
	}
	to.Flush()
	c.w.Header().Set("Content-Type", "text/csv; charset=utf-8")
	c.w.Header().Set("Content-Disposition", fmt.Sprintf(`attachment; filename="messages-%s-%s.csv"`, f.From, f.To))
	_, _ = out.WriteTo(c.w) // the client is gone
}

// line is a message as the caller may see it.
func (c *call) line(e support.Entry) []string {
	e = c.redacted(e)
	out := []string{
		c.at(e.On).Format(time.RFC3339), e.Person, e.Name, e.Address, e.Type, e.Occasion, e.Channel, word(e.State()), because(e), e.MessageID,
	}
	for i, text := range out {
		out[i] = spreadsheet.Defused(text)
	}
	return out
}

// Sheet is the link to what a page of messages shows, for a spreadsheet.
func (v view) Sheet() string { return v.Link("messages.csv", v.Filter.pairs()...) }
