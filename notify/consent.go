package notify

import (
	"context"
	"fmt"
	"slices"

	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/driver"
)

// Group is what a recipient leaves with one click, such as marketing or reminders:
// types belong to it by [Type].Group.
type Group struct {
	Name  string // stored with messages and preferences; required
	Title string // what recipients read; empty: the Name
}

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

// checkGroup panics on a type of a group that Options.Groups does not have.
func (n *core) checkGroup(t Type) {
	if t.Group != "" && !slices.ContainsFunc(n.options.Groups, func(g Group) bool { return g.Name == t.Group }) {
		panic(fmt.Sprintf("notify: Register %q: Options.Groups has no group %q", t.Name, t.Group))
	}
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
	a := Attempt{RecipientRef: m.RecipientRef, RecipientHash: m.RecipientHash}
	rows := make([]preferenceRow, len(choices))
	for i, p := range choices {
		p.Scope, p.RecipientRef = m.Scope, m.RecipientRef
		rows[i] = p.rowOf(a.Recipient(), driver.Now(n.store))
		rows[i].MessageID = m.MessageID
	}
	return n.inTx(ctx, nil, func(tx storage.Tx) error { return savePreferences(ctx, tx, copies(rows)...) })
}

// GroupChoice is one of Options.Groups, and whether somebody wants it.
type GroupChoice struct {
	Group
	Wanted bool
	// Asked says that it is the group of the message that carried the link.
	Asked bool
}

// GroupChoices says which of Options.Groups the recipient of the token's message wants
// by its method, in their order. It writes nothing. The error is that of
// CheckUnsubscribe.
func (n Contacts) GroupChoices(ctx context.Context, token string) ([]GroupChoice, error) {
	m, err := n.tokenOf(ctx, token)
	if err != nil {
		return nil, err
	}
	asked := make([][]driver.Place, len(n.options.Groups))
	var places []driver.Place
	for i, g := range n.options.Groups {
		a := Attempt{Scope: m.Scope, RecipientRef: m.RecipientRef, RecipientHash: m.RecipientHash, Address: m.Address, Method: m.Method, Group: g.Name}
		asked[i] = n.wishes(&a)
		places = append(places, asked[i]...)
	}
	var known map[driver.Place]*preferenceRow
	err = n.read(ctx, nil, func(from driver.Reader) error {
		known, err = preferences.GetMany(ctx, from, places)
		return err
	})
	out := make([]GroupChoice, len(n.options.Groups))
	for i, g := range n.options.Groups {
		out[i] = GroupChoice{g, !optedOut(known, asked[i]), g.Name == m.ConsentGroup}
	}
	return out, err
}
