package memory

import (
	"slices"

	"github.com/belfry-go/belfry/storage"
)

// part is what workers do not see of a table, by their schema; see
// storage.Schema.Whole.
type part struct {
	kept   []*storage.Column // stay as they are stored, besides those that are fixed for all
	json   []int             // those of them in shape.json
	unread []*storage.Column
}

// part compares s with the whole.
func (p *shape) part(s *storage.Schema) *part {
	if known := p.parts[s]; known != nil {
		return known
	}
	made := &part{}
	for i := range p.schema.Columns {
		c := &p.schema.Columns[i]
		n := slices.IndexFunc(s.Columns, func(o storage.Column) bool { return o.Name == c.Name })
		switch {
		case n < 0:
			made.unread = append(made.unread, c)
		case s.Columns[n].Fixed && !c.Fixed:
			made.kept = append(made.kept, c)
			if j := slices.Index(p.json, c); j >= 0 {
				made.json = append(made.json, j)
			}
		}
	}
	p.parts[s] = made
	return made
}

// keep puts what a worker does not write back to what it was.
func (p *part) keep(img, old *image) {
	for _, c := range p.kept {
		c.Field(img.row).Set(c.Field(old.row))
	}
	for _, i := range p.json {
		img.json[i] = old.json[i]
	}
}

// leaveOut clears what a worker does not read.
func (p *part) leaveOut(r storage.Row) {
	for _, c := range p.unread {
		c.Field(r).SetZero()
	}
}
