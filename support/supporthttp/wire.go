package supporthttp

import (
	"maps"
	"slices"
	"time"

	"github.com/belfry-go/belfry/automation"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/support"
)

// about is what can be asked for, as parameters of a URL. An address is sealed for everyone,
// and the other keys for those who may not see personal data.
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
		Person: c.handle(a.Person), Method: a.Address.Method, Address: c.s.seal.close(c.scope, a.Address.Address), Type: a.Entity.Type, ID: c.handle(a.Entity.ID),
		Key: c.handle(a.Key), Message: a.MessageID, Provider: a.ProviderID,
	}
}

// entry is one of a story or a list. Name, Address, Subject, Text, HTML, Detail and Ticket are personal.
type entry struct {
	On         time.Time        `json:"on"`
	Kind       support.Kind     `json:"kind"`
	Outcome    support.Outcome  `json:"outcome"`
	State      support.State    `json:"state"`
	Because    string           `json:"because,omitempty"` // why it is in its state, in a line; of an end in the host's own words, to those who may see them
	Type       string           `json:"type"`
	Occasion   string           `json:"occasion,omitempty"`
	Channel    string           `json:"channel,omitempty"`
	Status     string           `json:"status"`
	Reason     string           `json:"reason,omitempty"`
	ReasonBy   string           `json:"reason_by,omitempty"`
	What       string           `json:"what"`
	ToDo       string           `json:"toDo,omitempty"`
	NextOn     time.Time        `json:"nextOn,omitzero"`
	Can        []support.Action `json:"can,omitempty"`
	Part       *part            `json:"part,omitempty"` // what those are taken on, where it is not a row
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
	Ticket     string           `json:"ticket,omitempty"` // of an unhappy response: its address in the host's own system
	Letter     *letter          `json:"letter,omitempty"` // what else a message had, likewise
	Parts      []entry          `json:"parts,omitempty"`  // of a page: what belongs to it
	Messages   []message        `json:"messages,omitempty"`
	More       bool             `json:"moreMessages,omitempty"`
	Steps      []step           `json:"steps,omitempty"`
	Campaign   *campaign        `json:"campaign,omitempty"` // of one that is asked for alone
}

// letter is what a message had beside its texts: personal, but for the locale.
type letter struct {
	Locale  string   `json:"locale,omitempty"`
	ReplyTo string   `json:"replyTo,omitempty"`
	CC      []string `json:"cc,omitempty"`
	BCC     []string `json:"bcc,omitempty"`
	Headers []header `json:"headers,omitempty"`
	Files   []file   `json:"files,omitempty"`
}

type header struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

type file struct {
	Name      string `json:"name"`
	MediaType string `json:"mediaType"`
	Bytes     int    `json:"bytes"`
}

func letterOf(l *support.Letter) *letter {
	if l == nil {
		return nil
	}
	out := &letter{Locale: l.Locale, ReplyTo: l.Mail.ReplyTo, CC: l.Mail.CC, BCC: l.Mail.BCC}
	for _, name := range slices.Sorted(maps.Keys(l.Mail.Headers)) {
		out.Headers = append(out.Headers, header{name, l.Mail.Headers[name]})
	}
	for _, f := range l.Files {
		out.Files = append(out.Files, file{f.Name, f.MediaType, int(f.Blob.Size)})
	}
	return out
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
	State     support.State   `json:"state"`
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

// entryOf is an entry as the caller may see it.
func (c *call) entryOf(e support.Entry) entry { return c.wired(c.redacted(e)) }

func (c *call) redacted(e support.Entry) support.Entry { return e.Redact(c.handle, c.caller.Personal) }

// wired is a redacted entry with the actions and the zone of the caller.
func (c *call) wired(e support.Entry) entry {
	out := entry{
		On: c.at(e.On), Kind: e.Kind, Outcome: e.Outcome, State: e.State(), Because: because(e), Type: e.Type, Occasion: e.Occasion, Channel: e.Channel, Status: e.Status,
		Reason: e.Reason, ReasonBy: e.ReasonBy, What: e.What, ToDo: e.ToDo, NextOn: c.at(e.NextOn), Can: c.can(e.Can), Part: partOf(e.Part), Version: e.Version,
		Key: e.Key, MessageID: e.MessageID, ProviderID: e.ProviderID, Person: e.Person, EntityType: e.Entity.Type, Entity: e.Entity.ID,
		Address: e.Address, Name: e.Name, Subject: e.Subject, Text: e.Text, HTML: e.HTML, Detail: e.Detail, Ticket: e.Ticket, More: e.More,
		Campaign: campaignOf(e.Campaign), Letter: letterOf(e.Letter),
	}
	for _, p := range e.Parts {
		out.Parts = append(out.Parts, c.wired(p))
	}
	for _, m := range e.Messages {
		out.Messages = append(out.Messages, message{m.MessageID, m.Channel, m.Outcome, m.State(), m.Status, m.Reason, c.at(m.On), m.Person})
	}
	for _, s := range e.Steps {
		out.Steps = append(out.Steps, step{c.at(s.On), s.What, s.Reason, s.Actor, s.Detail})
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
	// Choices are what a person gets of everything and of each group, Addresses where their
	// last messages went.
	Choices   []choice      `json:"choices,omitempty"`
	Erased    bool          `json:"erased,omitempty"` // new messages to the person are not sent
	Addresses []destination `json:"addresses,omitempty"`
}

type choice struct {
	Group   string    `json:"group,omitempty"`
	Title   string    `json:"title,omitempty"`
	Stopped bool      `json:"stopped"`
	OptIn   bool      `json:"optIn,omitempty"`
	Since   time.Time `json:"since,omitzero"`
	// BySupport says that a Stop of just this is in force, which Allow ends.
	BySupport bool `json:"bySupport,omitempty"`
}

// destination is an address of a person. Key is what an Unblock takes.
type destination struct {
	Method  string        `json:"method"`
	Address string        `json:"address,omitempty"`
	Key     string        `json:"key"`
	Last    support.State `json:"last"`
	On      time.Time     `json:"on"`
	Blocked string        `json:"blocked,omitempty"` // why, in words
	By      string        `json:"by,omitempty"`
	Since   time.Time     `json:"since,omitzero"`
}

// consent is what a person wants.
type consent struct {
	Type     string    `json:"type,omitempty"`
	Group    string    `json:"group,omitempty"`
	Method   string    `json:"method,omitempty"`
	OptedOut bool      `json:"optedOut"`
	Since    time.Time `json:"since"`
	// BySupport says that it is a stop of support, and not what the person has said.
	BySupport bool `json:"bySupport,omitempty"`
}

func (c *call) storyOf(s support.Story) story {
	out := story{
		About: c.aboutOf(s.About), Name: c.hide(or(s.Name, s.About.Address.Address)), Next: c.entriesOf(s.Next), MoreNext: s.MoreNext, Erased: s.Erased, Past: c.entriesOf(s.Past),
		After: c.s.seal.close(c.scope, s.After),
	}
	for _, p := range s.Consent {
		out.Consent = append(out.Consent, consent{p.Type, p.Group, p.Method, p.OptedOut, c.at(p.Since), p.BySupport})
	}
	for _, o := range s.Choices {
		out.Choices = append(out.Choices, choice{o.Group, o.Title, o.Stopped, o.OptIn, c.at(o.Since), o.BySupport})
	}
	for _, a := range s.Addresses {
		out.Addresses = append(out.Addresses, destination{
			Method: a.Method, Address: c.hide(a.Address), Key: c.handle(a.Method + ":" + a.Address), Last: a.Last, On: c.at(a.On), Blocked: a.Why(), By: a.By, Since: c.at(a.Since),
		})
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

// because says why a redacted entry is in its state, in the host's own words where it has such.
func because(e support.Entry) string { return or(e.Said, e.Because()) }

func (c *call) verdictOf(v support.Verdict) verdict {
	out := verdict{Person: c.handle(v.Person), Type: v.Type, Outcome: v.Outcome, Reason: v.Reason, On: c.at(v.On), Text: or(c.hide(v.Told), v.Text), ToDo: v.ToDo}
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
	Otherwise  string           `json:"otherwise,omitempty"` // what happens if nothing is done
	Can        []support.Action `json:"can,omitempty"`
	Part       *part            `json:"part,omitempty"`
}

func (c *call) needsOf(all []support.Need) []need {
	out := make([]need, len(all))
	for i, n := range all {
		out[i] = need{
			n.Kind, n.Domain, n.Table, n.Reason, n.Name, n.Rows, n.Capped, c.at(n.Since), string(n.Scope), n.Everywhere, n.What, n.ToDo, n.Otherwise(), c.can(n.Can), partOf(n.Part()),
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
		out[i] = hit{c.aboutOf(h.About), c.hide(or(h.Name, h.About.Address.Address)), h.What}
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

func (c *call) calendarOf(days []support.Day, more bool) calendar {
	out := calendar{More: more}
	for _, d := range days {
		to := day{On: c.at(d.On), Rows: []coming{}}
		for _, r := range d.Rows {
			to.Rows = append(to.Rows, coming{r.Domain, r.Table, r.Kind, r.What(), r.Rows, c.at(r.First)})
		}
		out.Days = append(out.Days, to)
	}
	return out
}

// The answers that are lists.
type (
	found struct {
		Hits []hit `json:"hits"`
		// More says that an address was looked for among the newest 10,000 messages alone.
		More bool `json:"more,omitempty"`
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
	To        string    `json:"to,omitempty"`        // of SendTo: the other address
	Group     string    `json:"group,omitempty"`     // of Stop and Allow; empty: all messages
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
	Domain     string    `json:"domain"`
	Type       string    `json:"type,omitempty"`
	Channel    string    `json:"channel,omitempty"`
	Setting    string    `json:"setting,omitempty"`
	Subscriber string    `json:"subscriber,omitempty"`
	Everywhere bool      `json:"everywhere,omitempty"`
	OwnAccount bool      `json:"ownAccount,omitempty"` // of Resolve: the account that the tenant has of its own
	From       time.Time `json:"from,omitzero"`        // of Resolve: the hours of an outage
	Until      time.Time `json:"until,omitzero"`
}

func partOf(p support.Part) *part {
	if p == (support.Part{}) {
		return nil
	}
	return &part{p.Domain, p.Type, p.Channel, p.Setting, p.Subscriber, p.Everywhere, p.OwnAccount, p.From.UTC(), p.Until.UTC()}
}

// outage is messages in doubt that one decision resolves.
type outage struct {
	Part        *part
	Rows        int
	From, Until time.Time // as people read them
}

func (c *call) doubtsOf(all []support.Outage) []outage {
	out := make([]outage, len(all))
	for i, o := range all {
		out[i] = outage{partOf(o.Part), o.Rows, c.at(o.From), c.at(o.Until)}
	}
	return out
}

// acted is what became of an order.
type acted struct {
	DryRun  bool     `json:"dryRun"`
	Done    int      `json:"done"`
	Sends   int      `json:"sends,omitempty"` // so many messages for certain, of a dry run
	Targets []result `json:"targets"`
}

// result is what became of one target.
type result struct {
	Kind    support.Kind `json:"kind,omitempty"`
	Key     string       `json:"key,omitempty"`
	Part    *part        `json:"part,omitempty"`
	Done    bool         `json:"done"`
	Refused string       `json:"refused,omitempty"`
	Effect  string       `json:"effect,omitempty"` // what would happen, of a dry run
	// MessageID is the message that a SendTo made.
	MessageID string `json:"messageId,omitempty"`
}

func (c *call) actedOf(all []support.Acted, dry bool) acted {
	out := acted{DryRun: dry, Targets: make([]result, len(all))}
	for i, a := range all {
		r := result{Kind: a.Kind, Key: c.handle(a.Key), Part: partOf(a.Part), Done: a.Done, Refused: a.Refused, Effect: a.Effect, MessageID: a.MessageID}
		out.Sends += a.Sends
		if a.NotFound {
			r.Refused = nothing
		}
		if a.Done {
			out.Done++
		}
		out.Targets[i] = r
	}
	return out
}

// by is who acts.
func (c *call) by(reason string) automation.By {
	return automation.By{Actor: c.caller.Actor, Reason: reason}
}
