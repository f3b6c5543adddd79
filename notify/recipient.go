package notify

import (
	"cmp"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/belfry-go/belfry/internal/spelling"
	"github.com/belfry-go/belfry/internal/sweep"
	"github.com/belfry-go/belfry/internal/work"
	"github.com/belfry-go/belfry/keys"
	"github.com/belfry-go/belfry/notify/channel"
	"github.com/belfry-go/belfry/reasons"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/driver"
)

// Recipient is one person or inbox that a job is for. With a Channel it gets an
// [OutgoingMessage], with an Inbox a [UserMessage], with both both of them, and
// with neither it is counted as skipped.
type Recipient struct {
	// Ref is the host's stable id of the recipient. Together with the method and
	// the normalised address it is the identity of the message, so it never
	// holds a display name. It has at most 512 bytes.
	Ref string `json:"ref,omitempty"`
	// Channel is the key of the channel to use, such as "email:smtp".
	Channel string `json:"channel,omitempty"`
	// Address is where the channel delivers: a mail address, a phone number in
	// international form.
	Address string `json:"address,omitempty"`
	// Name is for display only.
	Name string `json:"name,omitempty"`
	// Locale is a BCP 47 tag; empty leaves the choice to the renderer.
	Locale string `json:"locale,omitempty"`
	// Zone is an IANA time zone, for quiet hours; empty means none is known.
	Zone string `json:"zone,omitempty"`
	// Inbox is the partition of in-app messages: "user:{id}" or
	// "employee:{guid}" (Communication - System architecture, "UserMessage").
	Inbox string `json:"inbox,omitempty"`
	// Data is what the message says to this recipient alone: a voucher's code. A
	// [Template] has it beside the members of EventData, which it overrides.
	Data map[string]string `json:"data,omitempty"`
}

var errInbox = errors.New(`the inbox is neither "user:{id}" nor "employee:{guid}"`)

// check refuses what no run of the generator could make a message of. An
// address is judged there, since one bad address must not stop the others.
func (r Recipient) check() error {
	if r.Inbox != "" && !isInbox(r.Inbox) {
		return errInbox
	}
	if strings.ContainsRune(r.Ref+r.Channel+r.Address+r.Name+r.Locale+r.Zone, 0) {
		return errors.New("holds a NUL")
	}
	switch {
	case len(r.Ref) > keys.MaxKeyLen:
		return fmt.Errorf("its Ref has %d bytes, more than %d", len(r.Ref), keys.MaxKeyLen)
	case len(r.Channel) > keys.MaxPartLen:
		return fmt.Errorf("its Channel has %d bytes, more than %d", len(r.Channel), keys.MaxPartLen)
	}
	for name, value := range r.Data {
		if strings.ContainsRune(name+value, 0) {
			return errors.New("its data hold a NUL")
		}
	}
	if r.Channel == "" {
		return nil
	}
	return checkMethod(channel.Method(r.Channel))
}

// usable reports whether an unchecked recipient can be stored, and told.
func (r Recipient) usable() bool {
	_, err := keys.Join(cmp.Or(r.Inbox, "none"))
	return err == nil && r.check() == nil && r.valid()
}

func checkMethod(method string) error {
	_, err := keys.OutgoingMessageRow(strings.Repeat("0", 40), method, 0)
	return err
}

// redacted stands for a text that may be personal where only equality matters.
func redacted(text string) string {
	sum := keys.Sum("belfry-redacted-1", text)
	return "#" + hex.EncodeToString(sum[:6])
}

// Catalogue says which types of notification a business unit wants, and who has
// subscribed to them (Communication - Codebase flow, "What Notification Settings
// control"). It is asked when a schedule is due and when a job is rendered, for
// many at once and from several goroutines. Without one every registered type is
// wanted, and goes to those whom its job names.
type Catalogue interface {
	// Options answers for each question in order. An error fails the try of all.
	Options(ctx context.Context, asked []Question) ([]NotificationOption, error)
}

// Question asks for a notification type in a business unit, about one job. Jobs that are
// alike in all of it are asked about once.
type Question struct {
	Scope        Scope
	Type         string
	BusinessUnit string
	// EntityType, Entity and EventData, as JSON, are the job's, so that subscribers can
	// be found by them; empty for a campaign.
	EntityType, Entity, EventData string
}

// NotificationOption is what a catalogue says about a type in a business unit.
// The zero value says that the type is not in the catalogue: nothing is sent.
type NotificationOption struct {
	Seeded, Enabled bool
	// Subscribers are told beside those whom a job names.
	Subscribers []Recipient
}

// skips says why nothing is sent for a job that names so many recipients; empty
// if something is.
func (o NotificationOption) skips(named int) string {
	switch {
	case !o.Seeded:
		return reasons.NotSeeded
	case !o.Enabled:
		return reasons.Disabled
	case named+len(o.Subscribers) == 0:
		return reasons.NoSubscribers
	}
	return ""
}

// catalogued asks each question once.
func (n generator) catalogued(ctx context.Context, asked []Question) (map[Question]NotificationOption, error) {
	out := make(map[Question]NotificationOption, len(asked))
	var open []Question
	for _, q := range asked {
		if _, known := out[q]; !known {
			out[q] = NotificationOption{}
			open = append(open, q)
		}
	}
	var answers []NotificationOption
	err := work.Guard(func() (err error) {
		answers, err = n.options.Catalogue.Options(ctx, open)
		return err
	})
	if err == nil && len(answers) != len(open) {
		err = fmt.Errorf("%d answers for %d questions", len(answers), len(open))
	}
	if err != nil {
		return nil, fmt.Errorf("notify: catalogue: %w", err)
	}
	for i, q := range open {
		out[q] = answers[i]
	}
	return out, nil
}

// subscribers gives the jobs of a group that were not rendered before those who
// have subscribed.
func (n *core) subscribers(ctx context.Context, items []work.Item[jobRow]) (map[Question]NotificationOption, error) {
	var asked []Question
	for _, it := range items {
		if n.options.Catalogue != nil && it.Row.Frozen.isZero() && !it.Row.isDigest() {
			asked = append(asked, it.Row.question())
		}
	}
	if len(asked) == 0 {
		return nil, nil
	}
	return n.generator().catalogued(ctx, asked)
}

func (j *jobRow) question() Question {
	return Question{j.Scope, j.Kind, j.BusinessUnit, j.EntityType, j.Entity, string(j.EventData)}
}

// unwanted says which of the schedules have no recipient, and why.
func (n generator) unwanted(ctx context.Context, items []work.Item[scheduleRow], found []woken) (map[int]string, error) {
	if n.options.Catalogue == nil {
		return nil, nil
	}
	asked := make([]Question, len(items))
	for i, it := range items {
		asked[i] = Question{Scope: it.Row.Scope, Type: it.Row.Kind, BusinessUnit: it.Row.BusinessUnit}
		if j := found[i].job; j != nil {
			asked[i] = j.question()
		}
	}
	options, err := n.catalogued(ctx, asked)
	if err != nil {
		return nil, err
	}
	out := map[int]string{}
	for i := range items {
		named := 1 // a messaging job has its recipients in a blob
		if j := found[i].job; j != nil {
			named = len(j.Recipients)
		}
		if why := options[asked[i]].skips(named); why != "" {
			out[i] = why
		}
	}
	return out, nil
}

// addressed says where the message of each recipient goes. One who is named twice with
// the same destination gets one message.
func (n generator) addressed(to []Recipient) frozen {
	f := frozen{HashKey: n.hashKey, Deliveries: make([]delivery, len(to))}
	for i, r := range to {
		d := n.destination(r)
		d.Open = d.Problem == "" || d.Recipient.Inbox != ""
		f.Deliveries[i] = d
	}
	return f
}

// destination normalises where a recipient is reached. A destination that is
// missing or malformed is a problem of this recipient, not a failure of the job.
func (n generator) destination(r Recipient) delivery {
	if !r.usable() {
		return delivery{Problem: reasons.BadAddress}
	}
	d := delivery{Recipient: r}
	if r.Channel == "" {
		if r.Inbox == "" {
			d.Problem = reasons.NoDestination
		}
		return d
	}
	method := channel.Method(r.Channel)
	address, err := spelling.Of(method, r.Address)
	if err != nil {
		d.Problem, address = reasons.BadAddress, r.Address
	}
	d.Recipient.Address = address
	d.Hash = n.recipientHash(r.Ref, method, address)
	return d
}

// MessagesOf lists what a person got or is to get, the newest first: all that names the
// Ref of r or, without one, that names none and goes to its Address by its Channel's
// method. Hashes under Options.FormerHashKeys count.
func (n Support) MessagesOf(ctx context.Context, scope Scope, r Recipient, p storage.Page) ([]OutgoingMessage, string, error) {
	who, err := n.gotBy(r)
	if err != nil {
		return nil, "", fmt.Errorf("notify: MessagesOf: %w", err)
	}
	var rows []*messageRow
	var next string
	err = n.read(ctx, nil, func(from driver.Reader) (err error) {
		rows, next, err = outgoingMessages.Page(ctx, from, scope, p, driver.Query{Where: who, OrderBy: "id", Desc: true})
		return err
	})
	out := make([]OutgoingMessage, len(rows))
	for i, m := range rows {
		out[i] = m.view()
	}
	return out, next, err
}

// maxJobsRead is how many jobs without messages JobsOf looks through.
const maxJobsRead = 10_000

// JobsOf lists the jobs that name a person and have made no messages yet, the newest first:
// those that wait, that cannot be rendered, that no process serves. From then on
// [Support.MessagesOf] has the messages. r is as there, or its Inbox counts. It looks
// through the 10,000 newest that have none.
func (n Support) JobsOf(ctx context.Context, scope Scope, r Recipient, p storage.Page) (out []Job, next string, err error) {
	who := sweep.Person{Ref: r.Ref}
	if r.Address != "" {
		who.Addresses = []sweep.Address{{Method: channel.Method(r.Channel), Address: r.Address}}
	}
	if r.Inbox != "" {
		who.Inboxes = []string{r.Inbox}
	}
	is := IsPerson(who)
	err = n.read(ctx, nil, func(from driver.Reader) error {
		places, after, err := jobsWithoutMessages(ctx, from, scope, is, p)
		if err != nil {
			return err
		}
		rows, err := jobs.GetMany(ctx, from, places)
		for _, at := range places {
			if j := rows[at]; j != nil {
				out = append(out, j.view())
			}
		}
		next = after
		return err
	})
	return out, next, err
}

// jobsWithoutMessages reads on until the page is full: of each job little, since most are
// of others.
func jobsWithoutMessages(ctx context.Context, from driver.Reader, scope Scope, is func(Recipient) bool, p storage.Page) (out []driver.ScopedKey, next string, err error) {
	at := storage.Page{After: p.After, Limit: driver.MaxPage}
	for read := 0; read < maxJobsRead; read += driver.MaxPage {
		rows, after, err := jobs.Page(ctx, from, scope, at, driver.Query{
			Columns: []string{"status", "recipients"},
			Where:   []driver.Cond{driver.Null("traced_on"), driver.Null("forgotten_on")}, OrderBy: "id", Desc: true,
		})
		if err != nil {
			return nil, "", err
		}
		for i, j := range rows {
			made := j.Status == StatusGenerated || j.Status == StatusDigested
			if !made && slices.ContainsFunc(j.Recipients, is) {
				out = append(out, jobs.ScopedKeyOf(j))
			}
			if last := i == len(rows)-1 && after == ""; len(out) == p.Size() && !last {
				return out, driver.Position{ID: j.ID}.String(), nil
			}
		}
		if at.After = after; after == "" {
			break
		}
	}
	return out, "", nil
}

// gotBy are the conditions that the indexes by recipient answer.
func (n *core) gotBy(r Recipient) ([]driver.Cond, error) {
	if r.Ref != "" {
		return []driver.Cond{driver.Eq("recipient_ref", r.Ref)}, nil
	}
	address, err := spelling.Of(channel.Method(r.Channel), r.Address)
	if err != nil {
		return nil, err
	}
	hashes := n.addressHashes(channel.Method(r.Channel), address)
	which := driver.Eq("recipient_hash", hashes[0])
	if len(hashes) > 1 {
		which = driver.In("recipient_hash", hashes)
	}
	return []driver.Cond{driver.Null("recipient_ref"), which}, nil
}
