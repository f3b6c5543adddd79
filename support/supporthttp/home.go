package supporthttp

import (
	"cmp"
	"net/http"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/support"
)

func (s *site) home(c *call) {
	reach, ok := c.reach()
	if !ok {
		return
	}
	v := c.view("home", "Home")
	_, one := reach.Scope()
	v.All = !one
	beside, ctx := errgroup.WithContext(c.r.Context())
	lately := filter{From: v.Now.AddDate(0, 0, -1).Format(dateOnly), To: v.Now.Format(dateOnly)}
	var made []notify.StageCount
	var coming []support.Day
	if one { // both take as long as the rest, and call no function of the host
		beside.Go(func() error {
			of, err := lately.made(c.zone())
			if err == nil {
				made, v.More, err = s.desk.CountMessages(ctx, c.scope, of)
			}
			return err
		})
		beside.Go(func() (err error) {
			coming, _, err = s.desk.Calendar(ctx, c.scope, c.zone(), 2)
			return err
		})
	}
	health, err := s.desk.Health(ctx, reach)
	v.Due, v.Needs = c.worksOf(health.Domains), c.needsOf(health.Needs)
	var last []support.Entry
	if one && err == nil {
		if err = s.resumable(c, v.Needs); err == nil {
			last, err = s.desk.LastActions(ctx, c.scope)
		}
	}
	if err := cmp.Or(beside.Wait(), err); err != nil {
		c.refuse("the page could not be read", err)
		return
	}
	if one {
		v.Work, v.Coming, v.Log = v.channels(made, v.More, v.Needs, lately), c.calendarOf(coming, false).Days, c.entriesOf(last)
	}
	c.show(http.StatusOK, v)
}

// resumable says of pauses what a Resume of each takes.
func (s *site) resumable(c *call, needs []need) error {
	if !slices.ContainsFunc(needs, func(n need) bool { return n.Kind == support.NeedPaused }) {
		return nil
	}
	all, _, err := s.desk.List(c.r.Context(), c.scope, support.Pauses, storage.Page{})
	for _, e := range c.entriesOf(all) {
		for i := range needs {
			n := &needs[i]
			if p := e.Part; p != nil && n.Kind == support.NeedPaused && n.Domain == p.Domain && n.Name == or(p.Channel, p.Type) && n.Everywhere == p.Everywhere && (!p.Everywhere || c.caller.Everywhere) {
				n.Part, n.Can, n.What = p, e.Can, e.What
			}
		}
	}
	return err
}

// channelWork is what went through a channel yesterday and today, and its state.
type channelWork struct {
	Name                  string
	State                 string // "Working", "Stopped" or "Paused"
	Since                 time.Time
	Sent, Failed, Unknown string
	Waiting, Expired      string
	Fails, Doubts         string // links, like those that follow
	Waits, Late           string
}

// channels are those through which anything went, or cannot go.
func (v view) channels(made []notify.StageCount, more bool, all []need, lately filter) (out []channelWork) {
	type sums struct{ sent, failed, unknown, waiting, expired int }
	of := map[string]sums{}
	states := map[string]need{}
	for _, n := range all {
		if n.Name != "" && (n.Kind == support.NeedOut || n.Kind == support.NeedPaused && n.Part != nil && n.Part.Channel != "") {
			states[n.Name] = n
			of[n.Name] = sums{}
		}
	}
	for _, c := range made {
		n := of[c.Channel]
		switch c.Stage {
		case notify.StageSent, notify.StageArrived:
			n.sent += c.N
		case notify.StageFailed:
			n.failed += c.N
		case notify.StageUnknown:
			n.unknown += c.N
		case notify.StageWaiting:
			n.waiting += c.N
		case notify.StageExpired:
			n.expired += c.N
		}
		of[c.Channel] = n
	}
	for name, n := range of {
		w := channelWork{Name: name, State: "Working", Sent: number(n.sent, more), Failed: number(n.failed, more), Unknown: number(n.unknown, more), Waiting: number(n.waiting, more), Expired: number(n.expired, more)}
		switch is := states[name]; is.Kind {
		case support.NeedOut:
			w.State, w.Since = "Stopped", is.Since
		case support.NeedPaused:
			w.State, w.Since = "Paused", is.Since
		}
		link := func(stage notify.Stage) string {
			to := lately
			to.State, to.Channel = string(stage), name
			return v.Link("messages", to.pairs()...)
		}
		if n.failed > 0 {
			w.Fails = link(notify.StageFailed)
		}
		if n.unknown > 0 {
			w.Doubts = link(notify.StageUnknown)
		}
		if n.waiting > 0 {
			w.Waits = link(notify.StageWaiting)
		}
		if n.expired > 0 {
			w.Late = link(notify.StageExpired)
		}
		out = append(out, w)
	}
	slices.SortFunc(out, func(a, b channelWork) int { return slices.Compare([]string{a.Name}, []string{b.Name}) })
	return out
}
