package supporthttp

import (
	"maps"
	"slices"
	"time"

	"github.com/belfry-go/belfry/automation"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/support"
)

// about is what can be asked for, as parameters of an address. What is personal is sealed
// for those who may not see it.
type about struct {
	Person   string `json:"person,omitempty"`
	Method   string `json:"method,omitempty"`
	Address  string `json:"address,omitempty"`
	Type     string `json:"type,omitempty"`
	ID       string `json:"id,omitempty"`
	Key      string `json:"key,omitempty"`
	Message  string `json:"message,omitempty"`
	Provider string `json:"provider,omitempty"`
}

func (c *call) aboutOf(a support.About) about {
	return about{
		Person: c.handle(a.Person), Method: a.Address.Method, Address: c.handle(a.Address.Address), Type: a.Entity.Type, ID: c.handle(a.Entity.ID),
		Key: c.handle(a.Key), Message: a.MessageID, Provider: a.ProviderID,
	}
}

// entry is one of a story or a list. Name, Address, Subject, Text, HTML and Detail are personal.
type entry struct {
	On         time.Time        `json:"on"`
	Kind       support.Kind     `json:"kind"`
	Outcome    support.Outcome  `json:"outcome"`
	Type       string           `json:"type"`
	Occasion   string           `json:"occasion,omitempty"`
	Channel    string           `json:"channel,omitempty"`
	Status     string           `json:"status"`
	Reason     string           `json:"reason,omitempty"`
	Package    string           `json:"package,omitempty"`
	What       string           `json:"what"`
	ToDo       string           `json:"toDo,omitempty"`
	NextOn     time.Time        `json:"nextOn,omitzero"`
	Can        []support.Action `json:"can,omitempty"`
	Part       *part            `json:"part,omitempty"` // what those are taken on, where it is no row
	Version    string           `json:"version,omitempty"`
	Key        string           `json:"key"`
	MessageID  string           `json:"messageId,omitempty"`
	ProviderID string           `json:"providerId,omitempty"`
	Person     string           `json:"person,omitempty"`
	EntityType string           `json:"entityType,omitempty"`
	Entity     string           `json:"entity,omitempty"`
	Address    string           `json:"address,omitempty"`
	Name       string           `json:"name,omitempty"`
	Subject    string           `json:"subject,omitempty"`
	Text       string           `json:"text,omitempty"` // as it was sent, of a message that is asked for alone
	HTML       string           `json:"html,omitempty"`
	Detail     string           `json:"detail,omitempty"`
	Messages   []message        `json:"messages,omitempty"`
	More       bool             `json:"moreMessages,omitempty"`
	Steps      []step           `json:"steps,omitempty"`
	Campaign   *campaign        `json:"campaign,omitempty"` // of one that is asked for alone
}

// campaign is how far one has come: of so many recipients, with messages by their status.
type campaign struct {
	Recipients  int     `json:"recipients"`
	Done        int     `json:"done"`
	Skipped     int     `json:"skipped"`
	Repeated    int     `json:"repeated"`
	LeftSeconds int     `json:"leftSeconds,omitempty"`
	Messages    []state `json:"messages"`
	Sampled     bool    `json:"sampled,omitempty"` // those are a sample of 10,000
}

type state struct {
	Status string `json:"status"`
	Rows   int    `json:"rows"`
}

func campaignOf(p *notify.CampaignProgress) *campaign {
	if p == nil {
		return nil
	}
	out := &campaign{p.Recipients, p.Done, p.Skipped, p.Repeated, int(p.Left / time.Second), []state{}, p.Sampled}
	for _, status := range slices.Sorted(maps.Keys(p.Messages)) {
		out.Messages = append(out.Messages, state{status, p.Messages[status]})
	}
	return out
}

// message is one that a reminder led to.
type message struct {
	MessageID string          `json:"messageId"`
	Channel   string          `json:"channel"`
	Outcome   support.Outcome `json:"outcome"`
	Status    string          `json:"status"`
	Reason    string          `json:"reason,omitempty"`
	On        time.Time       `json:"on"`
	Person    string          `json:"person,omitempty"`
}

// step is one of an entry. Actor and Detail are personal.
type step struct {
	On     time.Time `json:"on"`
	What   string    `json:"what"`
	Reason string    `json:"reason,omitempty"`
	Actor  string    `json:"actor,omitempty"`
	Detail string    `json:"detail,omitempty"`
}

func (c *call) entryOf(e support.Entry) entry {
	out := entry{
		On: e.On.UTC(), Kind: e.Kind, Outcome: e.Outcome, Type: e.Type, Occasion: e.Occasion, Channel: e.Channel, Status: e.Status,
		Reason: e.Reason, Package: e.Package, What: e.What, ToDo: e.ToDo, NextOn: e.NextOn.UTC(), Can: c.can(e.Can), Part: partOf(e.Part), Version: e.Version,
		Key: c.handle(e.Key), MessageID: e.MessageID, ProviderID: e.ProviderID, Person: c.handle(e.Person),
		EntityType: e.Entity.Type, Entity: c.handle(e.Entity.ID),
		Address: c.hide(e.Address), Name: c.hide(e.Name), Subject: c.hide(e.Subject), Text: c.hide(e.Text), HTML: c.hide(e.HTML), Detail: c.hide(e.Detail), More: e.More,
	}
	out.Campaign = campaignOf(e.Campaign)
	for _, m := range e.Messages {
		out.Messages = append(out.Messages, message{m.MessageID, m.Channel, m.Outcome, m.Status, m.Reason, m.On.UTC(), c.handle(m.Person)})
	}
	for _, s := range e.Steps {
		out.Steps = append(out.Steps, step{s.On.UTC(), s.What, s.Reason, c.hide(s.Actor), c.hide(s.Detail)})
	}
	return out
}

func (c *call) entriesOf(all []support.Entry) []entry {
	out := make([]entry, len(all))
	for i, e := range all {
		out[i] = c.entryOf(e)
	}
	return out
}

// story is a page of one; After goes into "after" of the next request.
type story struct {
	About    about     `json:"about"`
	Name     string    `json:"name,omitempty"`
	Next     []entry   `json:"next"`
	MoreNext bool      `json:"moreNext,omitempty"`
	Past     []entry   `json:"past"`
	After    string    `json:"after,omitempty"`
	Consent  []consent `json:"consent,omitempty"`
}

// consent is what a person wants.
type consent struct {
	Type     string    `json:"type,omitempty"`
	Group    string    `json:"group,omitempty"`
	Method   string    `json:"method,omitempty"`
	OptedOut bool      `json:"optedOut"`
	Since    time.Time `json:"since"`
}

func (c *call) storyOf(s support.Story) story {
	out := story{
		About: c.aboutOf(s.About), Name: c.hide(s.Name), Next: c.entriesOf(s.Next), MoreNext: s.MoreNext, Past: c.entriesOf(s.Past),
		After: c.s.seal.close(c.scope, s.After),
	}
	for _, p := range s.Consent {
		out.Consent = append(out.Consent, consent{p.Type, p.Group, p.Method, p.OptedOut, p.Since.UTC()})
	}
	return out
}

// verdict says whether a person got something.
type verdict struct {
	Person  string          `json:"person"`
	Type    string          `json:"type"`
	Outcome support.Outcome `json:"outcome,omitempty"`
	Reason  string          `json:"reason,omitempty"`
	On      time.Time       `json:"on,omitzero"`
	Text    string          `json:"text"`
	ToDo    string          `json:"toDo,omitempty"`
	Entry   *entry          `json:"entry,omitempty"`
}

func (c *call) verdictOf(v support.Verdict) verdict {
	out := verdict{Person: c.handle(v.Person), Type: v.Type, Outcome: v.Outcome, Reason: v.Reason, On: v.On.UTC(), Text: v.Text, ToDo: v.ToDo}
	if v.Entry != nil {
		e := c.entryOf(*v.Entry)
		out.Entry = &e
	}
	return out
}

// need is one cause for which something waits.
type need struct {
	Kind       support.NeedKind `json:"kind"`
	Domain     string           `json:"domain"`
	Table      string           `json:"table,omitempty"`
	Reason     string           `json:"reason,omitempty"`
	Name       string           `json:"name,omitempty"`
	Rows       int              `json:"rows,omitempty"`
	Capped     bool             `json:"capped,omitempty"`
	Since      time.Time        `json:"since,omitzero"`
	Tenant     string           `json:"tenant,omitempty"`
	Everywhere bool             `json:"everywhere,omitempty"`
	What       string           `json:"what"`
	ToDo       string           `json:"toDo,omitempty"`
	Can        []support.Action `json:"can,omitempty"`
	Part       *part            `json:"part,omitempty"`
}

func (c *call) needsOf(all []support.Need) []need {
	out := make([]need, len(all))
	for i, n := range all {
		out[i] = need{
			n.Kind, n.Domain, n.Table, n.Reason, n.Name, n.Rows, n.Capped, n.Since.UTC(), string(n.Scope), n.Everywhere, n.What, n.ToDo, c.can(n.Can), partOf(n.Part()),
		}
	}
	return out
}

// hit is something that a search has found.
type hit struct {
	About about  `json:"about"`
	Name  string `json:"name,omitempty"`
	What  string `json:"what"`
}

func (c *call) hitsOf(all []support.Hit) []hit {
	out := make([]hit, len(all))
	for i, h := range all {
		out[i] = hit{c.aboutOf(h.About), c.hide(h.Name), h.What}
	}
	return out
}

// calendar is what goes out, day by day.
type calendar struct {
	Days []day `json:"days"`
	// More says that later days may have more than is counted here.
	More bool `json:"more,omitempty"`
}

type day struct {
	On   time.Time `json:"on"`
	Rows []coming  `json:"rows"`
}

// Total is how much goes out on it.
func (d day) Total() (n int) {
	for _, c := range d.Rows {
		n += c.Rows
	}
	return n
}

type coming struct {
	Domain  string    `json:"domain"`
	Table   string    `json:"table"`
	Kind    string    `json:"kind"` // a type, or the channel of messages that wait
	What    string    `json:"what"`
	Rows    int       `json:"rows"`
	FirstOn time.Time `json:"firstOn"`
}

func calendarOf(days []support.Day, more bool) calendar {
	out := calendar{More: more}
	for _, d := range days {
		to := day{On: d.On.UTC(), Rows: []coming{}}
		for _, c := range d.Rows {
			to.Rows = append(to.Rows, coming{c.Domain, c.Table, c.Kind, c.What(), c.Rows, c.First.UTC()})
		}
		out.Days = append(out.Days, to)
	}
	return out
}

// The answers that are lists.
type (
	found struct {
		Hits []hit `json:"hits"`
	}
	needs struct {
		Needs []need `json:"needs"`
	}
	atWork struct {
		Due []work `json:"due"`
	}
	codes struct {
		Reasons []code `json:"reasons"`
	}
)

// order is the body of act.
type order struct {
	Action   support.Action `json:"action"`
	Targets  []target       `json:"targets"`
	Decision string         `json:"decision,omitempty"` // "Sent" or "SendAgain"
	// Evidence is what a Resolve rests on; the audit has it behind the reason.
	Evidence  string    `json:"evidence,omitempty"`
	Until     time.Time `json:"until,omitzero"`
	Addresses []address `json:"addresses,omitempty"` // of Erase
	Confirm   string    `json:"confirm,omitempty"`   // of Erase: the key of the person once more
	Reason    string    `json:"reason"`
	DryRun    bool      `json:"dryRun,omitempty"`
}

type address struct {
	Method  string `json:"method"`
	Address string `json:"address"`
}

// target is a row, or a part of the work.
type target struct {
	Kind support.Kind `json:"kind,omitempty"`
	Key  string       `json:"key,omitempty"`
	Part *part        `json:"part,omitempty"`
}

type part struct {
	Domain     string `json:"domain"`
	Type       string `json:"type,omitempty"`
	Channel    string `json:"channel,omitempty"`
	Setting    string `json:"setting,omitempty"`
	Subscriber string `json:"subscriber,omitempty"`
	Everywhere bool   `json:"everywhere,omitempty"`
}

func partOf(p support.Part) *part {
	if p == (support.Part{}) {
		return nil
	}
	return &part{p.Domain, p.Type, p.Channel, p.Setting, p.Subscriber, p.Everywhere}
}

// acted is what became of an order.
type acted struct {
	DryRun  bool   `json:"dryRun"`
	Done    int    `json:"done"`
	Sends   int    `json:"sends,omitempty"` // so many messages for certain, of a dry run
	Targets []deed `json:"targets"`
}

// deed is what became of one target.
type deed struct {
	Kind    support.Kind `json:"kind,omitempty"`
	Key     string       `json:"key,omitempty"`
	Part    *part        `json:"part,omitempty"`
	Done    bool         `json:"done"`
	Refused string       `json:"refused,omitempty"`
	Effect  string       `json:"effect,omitempty"` // what would happen, of a dry run
}

func (c *call) actedOf(all []support.Acted, dry bool) acted {
	out := acted{DryRun: dry, Targets: make([]deed, len(all))}
	for i, a := range all {
		d := deed{Kind: a.Kind, Key: c.handle(a.Key), Part: partOf(a.Part), Done: a.Done, Refused: a.Refused, Effect: a.Effect}
		out.Sends += a.Sends
		if a.NotFound {
			d.Refused = nothing
		}
		if a.Done {
			out.Done++
		}
		out.Targets[i] = d
	}
	return out
}

// by is who acts.
func (c *call) by(reason string) automation.By {
	return automation.By{Actor: c.caller.Actor, Reason: reason}
}
