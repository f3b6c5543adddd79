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

// sendTo sends a message again, to another address. The audit entry of the new message
// names both.
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
	what := sends("sends it once more, to the new address; the first message and its address stay as they are")
	what.message = sent.MessageID
	return what, audit.Write(ctx, tx, &audit.Entry{
		Record: storage.Record{Scope: scope}, Subject: "outgoing_message", SubjectKey: sent.Key, SubjectVersion: audit.FirstVersion,
		Action: string(SendTo), Actor: o.By.Actor, Reason: fmt.Sprintf("%s (message %s in place of %s)", o.By.Reason, sent.MessageID, first[0].MessageID), On: d.now(),
	})
}

// stopping stops messages to a person, against their own choices: those of a group, or
// all except mandatory ones.
func stopping(ctx context.Context, d planner, tx storage.Tx, scope Scope, o Order, person string) (effect, error) {
	what := says("stops all messages except mandatory ones, such as invoices; the inbox goes on; this can be undone")
	if o.Group != "" {
		what = says(fmt.Sprintf("stops messages of the group %q; all others go on; this can be undone", d.group(o.Group)))
	}
	return what, d.o.Notify.WithTx(tx).Contacts().Stop(ctx, scope, person, o.Group, o.By)
}

// allowing undoes stopping.
func allowing(ctx context.Context, d planner, tx storage.Tx, scope Scope, o Order, person string) (effect, error) {
	what := says("ends the stop; the person's own choices apply again, and stopped groups stay stopped")
	if o.Group != "" {
		what = says(fmt.Sprintf("ends the stop of the group %q; the person's own choices apply again", d.group(o.Group)))
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

// unblocking lifts the suppressions of an address: "email:sam@example.com".
func unblocking(ctx context.Context, d planner, tx storage.Tx, scope Scope, o Order, key string) (effect, error) {
	method, address, ok := strings.Cut(key, ":")
	if !ok {
		return effect{}, fmt.Errorf("%w: Unblock: the key must be METHOD:ADDRESS, as in email:sam@example.com", automation.ErrActionRefused)
	}
	return says("allows messages to the address again; the provider may keep its own list of blocked addresses"),
		d.o.Notify.WithTx(tx).Contacts().Unsuppress(ctx, scope, notify.Destination{Method: method, Address: address}, o.By)
}

// Choice says whether a person gets messages of a group.
type Choice struct {
	Group, Title string    // empty: all messages
	Stopped      bool      // the person gets no messages of it
	Since        time.Time // when that was decided; zero: no choice was made
	OptIn        bool      // without a choice the person gets none
	BySupport    bool      // stopped by support for exactly this group; Allow ends it
}

// choices lists the choices of a person for all messages and for each group, by any
// method.
func (t teller) choices(known []notify.Preference) []Choice {
	groups := append([]notify.Group{{}}, t.o.Notify.Contacts().Groups()...)
	out := make([]Choice, len(groups))
	for i, g := range groups {
		out[i] = choice(g, known)
	}
	return out
}

// choice is the effective choice for a group. A stop by support comes first, then the
// person's choice for the group, then the choice for everything.
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
		if p != nil && (p.OptedOut || !g.OptIn || p.Group != "") { // a choice for everything does not opt in to such a group
			out.Stopped, out.Since = p.OptedOut, p.Since
			break
		}
	}
	return out
}
