package form

import (
	"bytes"
	_ "embed" // definition.schema.json
	"encoding/json"
	"slices"

	"github.com/belfry-go/belfry/internal/filter"
	"github.com/belfry-go/belfry/internal/strictjson"
)

// Definition is what the authors of a survey write: its questions, and the
// triggers that send its links (Triggers & Scheduler, "The trigger config").
type Definition struct {
	// Schema may name the JSON Schema of definitions for an editor (see
	// [DefinitionSchema]); nothing reads it.
	Schema string `json:"$schema,omitempty"`
	// Title, Intro and Thanks are shown above the form, and instead of it after
	// the response. Like the labels of questions they may hold values of the event: see
	// [Fill].
	Title  Text `json:"title,omitzero"`
	Intro  Text `json:"intro,omitzero"`
	Thanks Text `json:"thanks,omitzero"`
	// Endings say something else than Thanks, by the answers: the first that matches.
	Endings []Ending `json:"endings,omitempty"`
	// Unhappy says which answers, by question id, need a person: the worklist has those
	// responses, and the alert tells of them. Nil: none.
	Unhappy *Filter `json:"unhappy,omitempty"`
	// Queue is a path of the event, such as candidate.queue, by whose values the worklist is
	// parted: few values, and nothing personal. Empty: it is not parted.
	Queue string `json:"queue,omitempty"`
	// Anonymous says that nothing stored joins a response with its link: the response and its
	// event have an id of their own, the day, the survey and the answers, and the link says only
	// that it was answered, and on which day. There is no worklist, no dimension, no ending by the
	// answers, and nothing filled in from the event.
	Anonymous bool `json:"anonymous,omitempty"`
	// Questions are asked in this order; none, if the form is kept elsewhere.
	Questions []Question `json:"questions,omitempty"`
	// Triggers say which events produce links.
	Triggers []Trigger `json:"triggers,omitempty"`
	// OpenLinks are for everybody, without an event.
	OpenLinks []OpenLink `json:"openLinks,omitempty"`
	// Dimensions are paths of the event, such as candidate.dealerId, by whose values
	// results are counted apart: few values, and nothing personal, since the counts stay
	// when a person is erased.
	Dimensions []string `json:"dimensions,omitempty"`
	// Messages replace the texts that links are sent with.
	Messages []MessageText `json:"messages,omitempty"`
}

// MessageText is the text of one send: the initial one or a reminder.
type MessageText struct {
	// Ordinal is 0 for the initial send, and 1 and up for the reminders. A
	// reminder without a text of its own has that of the one before.
	Ordinal int `json:"ordinal"`
	// Subject is one line, for channels that have one.
	Subject Text `json:"subject,omitzero"`
	// Subject and Text are templates of text/template, HTML is one of html/template.
	// Their fields are those of [LinkData]. [Validate] runs them on a sample, so that
	// a field which is not there is a fault, except in a branch that the sample does
	// not take.
	Text Text `json:"text"`
	HTML Text `json:"html,omitzero"`
	// Template is sent instead by channels of WhatsApp; nil: the text is.
	Template *ProviderTemplate `json:"template,omitempty"`
}

// ProviderTemplate names a text that the provider holds, as WhatsApp requires outside of
// 24 hours after the customer's last message.
type ProviderTemplate struct {
	// Name is what the provider calls it, by the locales that it has there: that of the
	// name chosen for the recipient is the language that is asked for.
	Name Text `json:"name"`
	// Params are its parameters in their order, templates of text/template as the text
	// is. One that comes out empty is refused by the channel.
	Params []string `json:"params,omitempty"`
}

//go:embed definition.schema.json
var definitionSchema []byte

// DefinitionSchema is the JSON Schema of definitions (draft 2020-12), for editors and
// other programs. It accepts whatever [Validate] accepts. Validate refuses more: what
// depends on several places, such as an id that is there twice, a question that is
// asked about before it was asked, and a template that does not parse.
func DefinitionSchema() []byte { return bytes.Clone(definitionSchema) }

// Filter is a condition on the values of an event or of a response,
//
//	{"questionId": "candidate.jobType", "op": "==", "value": "GR"}
//
// or a group of filters: {"all": […]}, {"any": […]}, {"not": {…}} (Triggers &
// Scheduler, "filter"). Its comparisons are
//
//	==  !=            a text, a number, true or false
//	>  >=  <  <=      a text or a number
//	in  notIn         a list of those
//	contains          a text has another inside, or a list has a value
//	startsWith        a text begins with another
//	exists            something is there; with the value false: nothing is
//
// Texts compare byte by byte, so that case counts and dates such as 2026-05-14 are in
// order. Numbers compare as decimals, exactly, and so do a number and a text that is
// one: 10 is 10.0 and "10". Other types are never equal and in no order. At a path
// where there is nothing, or null, only !=, notIn and exists false are true.
//
// A filter has at most 100 conditions and groups, eight inside each other, 1000 values
// in lists, and texts of 1000 characters. There are no patterns.
type Filter = filter.Filter

// Validate says everything that is wrong with a definition, as a [*DefinitionError],
// or else what is allowed and probably not meant. It needs no store: editors and the
// checks of a repository call it. [Service.Publish] refuses what it refuses.
//
// The JSON is strict: members that are unknown or there twice, null, and text behind
// the definition are faults. Numbers are exact.
func Validate(definition json.RawMessage) (warnings []Fault, err error) {
	d, faults := readDefinition(definition)
	if err := definitionError(faults); err != nil {
		return nil, err
	}
	return d.Warnings(), nil
}

// Parse reads a definition and lists what is wrong with it; with a fault the
// definition is not to be used.
func Parse(definition json.RawMessage) (Definition, []Fault) {
	d, faults := readDefinition(definition)
	return d, faultsOf(faults)
}

// UnmarshalJSON reads a definition that was published. Members that it does not know are
// passed over: a later release has added them. [Parse] reads what authors wrote.
func (d *Definition) UnmarshalJSON(text []byte) error {
	type members Definition
	var read members
	if err := json.Unmarshal(text, &read); err != nil {
		return err
	}
	*d = Definition(read)
	d.Questions = withAdded(d.Questions)
	return nil
}

// MarshalJSON writes what authors wrote: without the questions that others bring along.
func (d Definition) MarshalJSON() ([]byte, error) {
	type members Definition
	d.Questions = slices.DeleteFunc(slices.Clone(d.Questions), func(q Question) bool { return q.Added })
	return json.Marshal(members(d))
}

// readDefinition reads a definition and lists what is wrong with it.
func readDefinition(text json.RawMessage) (Definition, strictjson.Faults) {
	var d Definition
	var faults strictjson.Faults
	if n := len(text); n > 4*MaxDefinition { // however much of it is space
		faults.Add("", "has %d bytes, more than %d", n, 4*MaxDefinition)
		return d, faults
	}
	faults = strictjson.Decode(text, &d)
	c := newChecker(faults)
	if c.told[""] {
		return d, faults
	}
	if n := len(Stored(text)); n > MaxDefinition {
		c.add("", "takes %d bytes when it is stored, more than %d", n, MaxDefinition)
	}
	c.characters("$schema", d.Schema, maxLine, "")
	c.words("title", d.Title, maxLine, "")
	c.words("intro", d.Intro, maxProse, lineBreaks)
	c.words("thanks", d.Thanks, maxProse, lineBreaks)
	d.Questions = withAdded(d.Questions)
	c.endings(&d)
	c.questions(d.Questions)
	c.filter("unhappy", d.Unhappy, d.unasked)
	if d.Queue != "" {
		c.eventValue("queue", d.Queue)
	}
	c.anonymous(&d)
	c.triggers(&d)
	c.dimensions(d.Dimensions)
	c.messages(d.Messages)
	return d, c.faults
}

// anonymous checks that an anonymous survey asks for nothing that tells who answered.
func (c *checker) anonymous(d *Definition) {
	if !d.Anonymous {
		return
	}
	for path, given := range map[string]bool{
		"unhappy": d.Unhappy != nil, "queue": d.Queue != "", "dimensions": len(d.Dimensions) > 0, "endings": len(d.Endings) > 0,
	} {
		if given {
			c.add(path, "is not for an anonymous survey: a response is not joined with its link")
		}
	}
	for at, q := range placed(d.Questions) {
		if q.Prefill != "" {
			c.add(strictjson.Member(at, "prefill"), "is not for an anonymous survey: the answer would have what the event says")
		}
	}
}

// Stored is the text of a definition as every store keeps it: without
// spaces.
func Stored(text json.RawMessage) json.RawMessage {
	stored, err := json.Marshal(text)
	if err != nil {
		panic(err) // it has been read
	}
	return stored
}

// MaxDefinition bounds a definition in bytes, as it is stored.
const MaxDefinition = 256 << 10

// AllTriggers are the triggers, and the open links as triggers with the channel [OpenChannel].
func (d *Definition) AllTriggers() []Trigger {
	out := slices.Clone(d.Triggers)
	for _, l := range d.OpenLinks {
		out = append(out, Trigger{ID: l.ID, Enabled: l.Enabled, Channel: OpenChannel, Subscribers: l.Subscribers})
	}
	return out
}

// Trigger is the one of [Definition.AllTriggers] with that id, or nil.
func (d *Definition) Trigger(id string) *Trigger {
	for i := range d.Triggers { // the usual case, without a copy
		if d.Triggers[i].ID == id {
			return &d.Triggers[i]
		}
	}
	if i := slices.IndexFunc(d.OpenLinks, func(l OpenLink) bool { return l.ID == id }); i >= 0 {
		return &d.AllTriggers()[len(d.Triggers)+i]
	}
	return nil
}

// Enabled are those of [Definition.AllTriggers] that are switched on.
func (d *Definition) Enabled() []Trigger {
	return slices.DeleteFunc(d.AllTriggers(), func(t Trigger) bool { return !t.Enabled })
}
