package support

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/belfry-go/belfry/automation"
	"github.com/belfry-go/belfry/internal/audit"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/storage"
)

// sendTo sends a message once more, to another address. The audit of the new message names
// both.
func sendTo(ctx context.Context, d planner, tx storage.Tx, scope Scope, o Order, key string) (effect, error) {
	bound := d.o.Notify.WithTx(tx).Support()
	sent, err := bound.SendTo(ctx, scope, key, o.To, o.By)
	if err != nil {
		return effect{}, err
	}
	first, err := bound.MessagesByKey(ctx, scope, key)
	if err != nil {
		return effect{}, err
	}
	what := sends("sends it once more, to the new address; the first message, and what is known of its address, stay as they are")
	what.message = sent.MessageID
	return what, audit.Write(ctx, tx, &audit.Entry{
		Record: storage.Record{Scope: scope}, Subject: "outgoing_message", SubjectKey: sent.Key, SubjectVersion: audit.FirstVersion,
		Action: string(SendTo), Actor: o.By.Actor, Reason: fmt.Sprintf("%s (message %s in place of %s)", o.By.Reason, sent.MessageID, first[0].MessageID), On: d.now(),
	})
}

// stopping ends messages to a person, whatever they have chosen: those of a group, or all but
// what is mandatory.
func stopping(ctx context.Context, d planner, tx storage.Tx, scope Scope, o Order, person string) (effect, error) {
	what := says("stops all messages but those that are mandatory, such as a new password; the inbox goes on, and it can be undone")
	if o.Group != "" {
		what = says(fmt.Sprintf("stops messages of the group %q; all others go on, and it can be undone", d.group(o.Group)))
	}
	return what, d.o.Notify.WithTx(tx).Contacts().Stop(ctx, scope, person, o.Group, o.By)
}

// allowing is the undoing of stopping.
func allowing(ctx context.Context, d planner, tx storage.Tx, scope Scope, o Order, person string) (effect, error) {
	what := says("ends the stop; what the person has chosen counts again, and groups that were stopped stay so")
	if o.Group != "" {
		what = says(fmt.Sprintf("ends the stop of the group %q; what the person has chosen counts again", d.group(o.Group)))
	}
	return what, d.o.Notify.WithTx(tx).Contacts().Allow(ctx, scope, person, o.Group, o.By)
}

// group is the title of a group.
func (d planner) group(name string) string {
	for _, g := range d.o.Notify.Contacts().Groups() {
		if g.Name == name && g.Title != "" {
			return g.Title
		}
	}
	return name
}

// unblocking lifts what is in force against an address: "email:sam@example.com".
func unblocking(ctx context.Context, d planner, tx storage.Tx, scope Scope, o Order, key string) (effect, error) {
	method, address, ok := strings.Cut(key, ":")
	if !ok {
		return effect{}, fmt.Errorf("%w: Unblock: that is not METHOD:ADDRESS", automation.ErrActionRefused)
	}
	return says("lets messages to the address through again; the provider may have a list of its own"),
		d.o.Notify.WithTx(tx).Contacts().Unsuppress(ctx, scope, notify.Destination{Method: method, Address: address}, o.By)
}

// Choice is whether a person gets messages of a group.
type Choice struct {
	Group, Title string    // empty: all messages
	Stopped      bool      // the person gets none
	Since        time.Time // of what decides it; zero: nothing was said
	OptIn        bool      // who has made no choice gets none
	BySupport    bool      // a Stop of just this is in force, which Allow ends
}

// choices are what a person gets of everything and of each group, by any method.
func (t teller) choices(known []notify.Preference) []Choice {
	groups := append([]notify.Group{{}}, t.o.Notify.Contacts().Groups()...)
	out := make([]Choice, len(groups))
	for i, g := range groups {
		out[i] = choice(g, known)
	}
	return out
}

// choice is what a person gets of a group, by what counts most: a stop of support, what the
// person has said of the group, and of everything.
func choice(g notify.Group, known []notify.Preference) Choice {
	out := Choice{Group: g.Name, Title: cmp.Or(g.Title, g.Name), Stopped: g.OptIn, OptIn: g.OptIn}
	find := func(group string, bySupport bool) *notify.Preference {
		i := slices.IndexFunc(known, func(p notify.Preference) bool {
			return p.Group == group && p.BySupport == bySupport && p.Type == "" && p.Method == ""
		})
		if i < 0 {
			return nil
		}
		return &known[i]
	}
	own := find(g.Name, true)
	out.BySupport = own != nil
	for _, p := range []*notify.Preference{own, find("", true), find(g.Name, false), find("", false)} {
		if p != nil && (p.OptedOut || !g.OptIn || p.Group != "") { // who wants everything has not asked for such a group
			out.Stopped, out.Since = p.OptedOut, p.Since
			break
		}
	}
	return out
}
