package support

import (
	"context"
	"fmt"
	"strings"

	"github.com/belfry-go/belfry/automation"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/storage"
)

// sendTo sends a message once more, to another address.
func sendTo(ctx context.Context, d planner, tx storage.Tx, scope Scope, o Order, key string) (did, error) {
	_, err := d.o.Notify.WithTx(tx).Support().SendTo(ctx, scope, key, o.To, o.By)
	return sends("sends it once more, to the new address; the first message, and what is known of its address, stay as they are"), err
}

// stopping ends messages to a person: those of a group, or all but what is mandatory. What
// the person asked for in particular ends too, since the more particular choice counts.
func stopping(ctx context.Context, d planner, tx storage.Tx, scope Scope, o Order, person string) (did, error) {
	contacts := d.o.Notify.WithTx(tx).Contacts()
	want := []notify.Preference{{Scope: scope, RecipientRef: person, Group: o.Group, OptedOut: true}}
	known, err := contacts.Preferences(ctx, scope, person)
	if err != nil {
		return did{}, err
	}
	for _, p := range known {
		if !p.OptedOut && (o.Group == "" || p.Group == o.Group) && (p.Type != "" || p.Method != "" || p.Group != o.Group) {
			p.OptedOut = true
			want = append(want, p)
		}
	}
	what := says("stops all messages but those that are mandatory, such as a new password; the inbox goes on, and it can be undone")
	if o.Group != "" {
		what = says(fmt.Sprintf("stops messages of the group %q; all others go on, and it can be undone", d.group(o.Group)))
	}
	return what, contacts.Decide(ctx, "Stop", o.By, want...)
}

// allowing is the undoing of stopping.
func allowing(ctx context.Context, d planner, tx storage.Tx, scope Scope, o Order, person string) (did, error) {
	what := says("lets messages through again; groups that were stopped stay so")
	if o.Group != "" {
		what = says(fmt.Sprintf("lets messages of the group %q through again", d.group(o.Group)))
	}
	return what, d.o.Notify.WithTx(tx).Contacts().Decide(ctx, "Allow", o.By, notify.Preference{Scope: scope, RecipientRef: person, Group: o.Group})
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
func unblocking(ctx context.Context, d planner, tx storage.Tx, scope Scope, o Order, key string) (did, error) {
	method, address, ok := strings.Cut(key, ":")
	if !ok {
		return did{}, fmt.Errorf("%w: Unblock: that is not METHOD:ADDRESS", automation.ErrActionRefused)
	}
	return says("lets messages to the address through again; the provider may have a list of its own"),
		d.o.Notify.WithTx(tx).Contacts().Unsuppress(ctx, scope, notify.Destination{Method: method, Address: address}, o.By)
}
