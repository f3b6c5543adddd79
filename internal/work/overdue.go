package work

import (
	"sync"
	"time"

	"github.com/belfry-go/belfry/storage"
)

// Stuck are the rows of one kind in one scope of a group whose handler has had them for
// longer than it may, and has not returned.
type Stuck struct {
	Pass, Kind string
	Scope      storage.Scope
	Rows       int
	Since      time.Time // when the handler got them
}

// late is a group in the hands of its handler.
type late struct {
	kind     string
	since    time.Time
	flights  []*flight
	returned bool
}

// overdue are the groups whose handlers take longer than they may. The zero value has
// none.
type overdue struct {
	mu     sync.Mutex
	groups map[*late]bool
}

func (o *overdue) add(g *late) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if g.returned {
		return
	}
	if o.groups == nil {
		o.groups = map[*late]bool{}
	}
	o.groups[g] = true
}

func (o *overdue) remove(g *late) {
	o.mu.Lock()
	defer o.mu.Unlock()
	g.returned = true
	delete(o.groups, g)
}

func (o *overdue) list(pass string) (out []Stuck) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for g := range o.groups {
		rows := map[storage.Scope]int{}
		for _, fl := range g.flights {
			rows[fl.class.scope]++
		}
		for scope, n := range rows {
			out = append(out, Stuck{Pass: pass, Kind: g.kind, Scope: scope, Rows: n, Since: g.since})
		}
	}
	return out
}
