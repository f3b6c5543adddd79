package notify

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/belfry-go/belfry/internal/audit"
	"github.com/belfry-go/belfry/notify/gate"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/driver"
)

// Group is what a recipient leaves with one click, such as marketing or reminders:
// types belong to it by [Type].Group.
type Group struct {
	Name  string // stored with messages and preferences; required
	Title string // what recipients read; empty: the Name
	// OptIn has nothing of the group go to whom no [Preference] says that they want it:
	// one of the group, or of the type, by the method or by any. A message keeps it, as
	// its Group; a Mandatory type passes. False: who says nothing gets it.
	OptIn bool
}

// Groups are Options.Groups.
func (n Contacts) Groups() []Group { return slices.Clone(n.options.Groups) }

// checkGroups panics on groups that no program can mean.
func checkGroups(groups []Group) {
	seen := map[string]bool{}
	for _, g := range groups {
		if g.Name == "" || seen[g.Name] {
			panic(fmt.Sprintf("notify: New: Options.Groups: the name %q is empty or there twice", g.Name))
		}
		seen[g.Name] = true
	}
}

// optIn reports whether the group is one that has to be asked for.
func (n *core) optIn(group string) bool {
	return group != "" && slices.ContainsFunc(n.options.Groups, func(g Group) bool { return g.Name == group && g.OptIn })
}

// checkGroup panics on a type of a group that Options.Groups does not have.
func (n *core) checkGroup(t Type) {
	if t.Group != "" && !slices.ContainsFunc(n.options.Groups, func(g Group) bool { return g.Name == t.Group }) {
		panic(fmt.Sprintf("notify: Register %q: Options.Groups has no group %q", t.Name, t.Group))
	}
}

// Stop keeps messages of a group, or of everything where group is empty, from a recipient,
// by all methods, as support was told, with its audit. It outranks what the recipient has
// said and says later, which stays as it is; Mandatory types and the inbox go on. Where it is
// so already it is [ErrActionRefused].
func (n Contacts) Stop(ctx context.Context, scope Scope, recipientRef, group string, by By) error {
	if recipientRef == "" {
		return errors.New("notify: Stop: the recipient's Ref is empty")
	}
	row := preferenceRow{
		Record:       storage.Record{Scope: scope, Key: stopKey(recipientOf(recipientRef), group)},
		RecipientRef: recipientRef, ConsentGroup: group,
	}
	return n.inTx(ctx, nil, func(tx storage.Tx) error {
		if _, err := preferences.Insert(ctx, tx, &row); err != nil {
			return err
		}
		return changeStop(ctx, tx, scope, row.Key, "Stop", true, by)
	})
}

// Allow ends a [Contacts.Stop] of the same group, or that of everything. Other stops go on.
// Where there is none it is [ErrActionRefused].
func (n Contacts) Allow(ctx context.Context, scope Scope, recipientRef, group string, by By) error {
	return n.inTx(ctx, nil, func(tx storage.Tx) error {
		err := changeStop(ctx, tx, scope, stopKey(recipientOf(recipientRef), group), "Allow", false, by)
		if errors.Is(err, storage.ErrNotFound) {
			return fmt.Errorf("%w: Allow: it is not stopped", ErrActionRefused)
		}
		return err
	})
}

// changeStop begins or ends a stop. Its row stays, so that an erasure finds what the audit
// says of it.
func changeStop(ctx context.Context, tx storage.Tx, scope Scope, key, action string, stop bool, by By) error {
	return audit.Change(ctx, tx, preferences, scope, key, action, by, func(p *preferenceRow, now time.Time) (refused string) {
		switch {
		case p.OptedOut == stop && stop:
			return "it is stopped already"
		case p.OptedOut == stop:
			return "it is not stopped"
		}
		p.OptedOut, p.ChangedOn = stop, now
		return ""
	})
}

// Leave says what a recipient wants no more of, by the method of the message that
// carried the link.
type Leave string

// What a recipient may leave.
const (
	// LeaveGroup is one click: the group of the message, or its type if it has none.
	LeaveGroup Leave = "group"
	LeaveType  Leave = "type"
	LeaveAll   Leave = "all" // all but what is mandatory
)

// Unsubscribe notes what the recipient of the token's message wants no more. It may be
// repeated. The error is that of CheckUnsubscribe.
func (n Contacts) Unsubscribe(ctx context.Context, token string, what Leave) error {
	m, err := n.tokenOf(ctx, token)
	if err != nil {
		return err
	}
	p := Preference{Method: m.Method, OptedOut: true}
	switch {
	case what == LeaveAll:
	case what == LeaveGroup && m.ConsentGroup != "":
		p.Group = m.ConsentGroup
	case what == LeaveGroup, what == LeaveType:
		p.Type = m.NotificationType
	default:
		return fmt.Errorf("notify: Unsubscribe: %.40q is nothing to leave", string(what))
	}
	return n.decide(ctx, m, p)
}

// ChooseGroups notes which of Options.Groups the recipient of the token's message wants
// by its method: those that are wanted, and none of the others. It may be repeated. The
// error is that of CheckUnsubscribe.
func (n Contacts) ChooseGroups(ctx context.Context, token string, wanted ...string) error {
	m, err := n.tokenOf(ctx, token)
	if err != nil {
		return err
	}
	choices := make([]Preference, len(n.options.Groups))
	for i, g := range n.options.Groups {
		choices[i] = Preference{Method: m.Method, Group: g.Name, OptedOut: !slices.Contains(wanted, g.Name)}
	}
	return n.decide(ctx, m, choices...)
}

// decide stores what the recipient of a message has said about its method.
func (n Contacts) decide(ctx context.Context, m *messageRow, choices ...Preference) error {
	a := gate.Attempt{RecipientRef: m.RecipientRef, RecipientHash: m.RecipientHash}
	rows := make([]preferenceRow, len(choices))
	for i, p := range choices {
		p.Scope, p.RecipientRef = m.Scope, m.RecipientRef
		rows[i] = p.rowOf(a.Recipient(), driver.Now(n.store))
		rows[i].MessageID = m.MessageID
	}
	return n.inTx(ctx, nil, func(tx storage.Tx) error { return savePreferences(ctx, tx, copies(rows)...) })
}

// Choose notes what the recipient of the token's message wants: of each of
// [Contacts.GroupChoices] its Wanted, and nothing of others. It may be repeated. The
// error is that of CheckUnsubscribe, or says which choice there is not; then nothing is
// stored.
func (n Contacts) Choose(ctx context.Context, token string, choices ...GroupChoice) error {
	m, err := n.tokenOf(ctx, token)
	if err != nil {
		return err
	}
	out := make([]Preference, len(choices))
	for i, c := range choices {
		known := slices.ContainsFunc(n.choosable(), func(g Group) bool { return g.Name == c.Name })
		if !known || len(methodsOf(m, c.Method)) == 0 {
			return fmt.Errorf("notify: Choose, argument %d: there is no such group, or method for this recipient", i+1)
		}
		out[i] = Preference{Method: c.Method, Group: c.Name, OptedOut: !c.Wanted}
	}
	return n.decide(ctx, m, out...)
}

// choosable are Options.Groups, or one without a name for everything.
func (n *core) choosable() []Group {
	if len(n.options.Groups) == 0 {
		return []Group{{}}
	}
	return n.options.Groups
}

// methodsOf are those of all that the recipient of a message can choose for: without a
// Ref, the message's own.
func methodsOf(m *messageRow, all ...string) (out []string) {
	if len(all) == 0 {
		return []string{m.Method}
	}
	for _, method := range all {
		if method == m.Method || m.RecipientRef != "" && checkMethod(method) == nil {
			out = append(out, method)
		}
	}
	return out
}

// GroupChoice is one of Options.Groups, and whether a person wants it by a method.
type GroupChoice struct {
	Group
	Method string
	Wanted bool
	// Asked says that it is the group of the message that carried the link.
	Asked bool
}

// GroupChoices says which of Options.Groups the recipient of the token's message wants
// by each of the methods, in their order; none: by the message's own. One without a Ref
// is known by an address, and has no choice by other methods. Without Options.Groups
// there is one choice a method, for everything, whose group has no name. It writes
// nothing. The error is that of CheckUnsubscribe.
func (n Contacts) GroupChoices(ctx context.Context, token string, methods ...string) ([]GroupChoice, error) {
	m, err := n.tokenOf(ctx, token)
	if err != nil {
		return nil, err
	}
	var out []GroupChoice
	var asked [][]driver.ScopedKey
	var places []driver.ScopedKey
	for _, g := range n.choosable() {
		for _, method := range methodsOf(m, methods...) {
			a := gate.Attempt{Scope: m.Scope, RecipientRef: m.RecipientRef, RecipientHash: m.RecipientHash, Address: m.Address, Method: method, Group: g.Name}
			choices := n.choices(&a) // a stop of support is not the recipient's choice
			asked, places = append(asked, choices), append(places, choices...)
			out = append(out, GroupChoice{Group: g, Method: method, Asked: g.Name != "" && g.Name == m.ConsentGroup})
		}
	}
	var known map[driver.ScopedKey]*preferenceRow
	err = n.read(ctx, nil, func(from driver.Reader) error {
		known, err = preferences.GetMany(ctx, from, places)
		return err
	})
	for i := range out {
		out[i].Wanted = refused(known, asked[i], out[i].OptIn) == ""
	}
	return out, err
}
