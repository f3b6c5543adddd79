package gate

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/belfry-go/belfry/internal/civil"
	"github.com/belfry-go/belfry/reasons"
	"github.com/belfry-go/belfry/storage/driver"
)

// Window keeps quiet hours: messages go out from From until To in the recipient's zone;
// others wait for the next From. Urgent types are exempt.
type Window struct {
	// From and To are local times, "08:00" and "21:00", both required. If To is before From
	// the window goes past midnight. A local time that does not exist means the time of the
	// clock change; one that exists twice means the first.
	From, To string
	// Zone is for recipients without a known zone; default "UTC".
	Zone string
	// Methods are the delivery methods that it applies to; empty: all.
	Methods []string
	// Spread distributes the waiting messages over this time after From, each at a time
	// derived from its id, so that they do not all go out at once; default 10 min.
	Spread time.Duration
}

// windowGate enforces a [Window].
type windowGate struct {
	from, to civil.TimeOfDay
	zone     *time.Location
	methods  []string
	spread   time.Duration
}

// newWindowGate panics on invalid times and zones.
func newWindowGate(w Window) *windowGate {
	g := &windowGate{methods: w.Methods, spread: w.Spread}
	if w.Zone == "" {
		w.Zone = "UTC"
	}
	if g.spread == 0 {
		g.spread = 10 * time.Minute
	}
	for _, err := range []error{
		set(&g.from, civil.ParseTimeOfDay, w.From), set(&g.to, civil.ParseTimeOfDay, w.To), set(&g.zone, civil.LoadZone, w.Zone),
	} {
		if err != nil {
			panic(fmt.Sprintf("gate: New: Window: %v", err))
		}
	}
	if g.from == g.to {
		panic("gate: New: Window: From is To; they must differ")
	}
	return g
}

func set[V any](to *V, parse func(string) (V, error), text string) (err error) {
	*to, err = parse(text)
	return err
}

func (*windowGate) Name() string { return "send window" }

func (g *windowGate) Ask(_ context.Context, a []Attempt) ([]Verdict, error) {
	out := make([]Verdict, len(a))
	for i := range a {
		if a[i].Urgent || len(g.methods) > 0 && !slices.Contains(g.methods, a[i].Method) {
			continue
		}
		opens, closes, err := g.next(a[i].Now, g.zoneOf(&a[i]))
		if err != nil {
			return nil, err
		}
		if opens.After(a[i].Now) {
			wait := spread(a[i].MessageID, min(g.spread, closes.Sub(opens)))
			out[i] = Defer(driver.Time(opens.Add(wait)), reasons.QuietHours)
		}
	}
	return out, nil
}

// zoneOf is the recipient's zone, or Zone if that is empty or unknown.
func (g *windowGate) zoneOf(a *Attempt) *time.Location {
	if a.Zone == "" {
		return g.zone
	}
	loc, err := civil.LoadZone(a.Zone)
	if err != nil {
		return g.zone
	}
	return loc
}

// next is the window that contains now, or else the next one. It begins with the day
// before, whose window may still be open.
func (g *windowGate) next(now time.Time, loc *time.Location) (opens, closes time.Time, err error) {
	today := civil.DateOf(now, loc)
	for days := -1; days <= 3; days++ {
		if opens, closes, err = g.on(today.AddDays(days), loc); err != nil {
			return opens, closes, err
		}
		if opens.Before(closes) && now.Before(closes) {
			return opens, closes, nil
		}
	}
	return opens, closes, fmt.Errorf("gate: no send window within days in zone %v", loc)
}

// on is the window that opens on day d.
func (g *windowGate) on(d civil.Date, loc *time.Location) (opens, closes time.Time, err error) {
	if opens, _, err = civil.Resolve(d, g.from, loc, civil.Policy{}); err != nil {
		return opens, closes, err
	}
	if g.to.Hour*3600+g.to.Minute*60+g.to.Second <= g.from.Hour*3600+g.from.Minute*60+g.from.Second {
		d = d.AddDays(1)
	}
	closes, _, err = civil.Resolve(d, g.to, loc, civil.Policy{})
	return opens, closes, err
}
