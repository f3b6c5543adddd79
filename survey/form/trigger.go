package form

import (
	"fmt"
	"github.com/belfry-go/belfry/internal/strictjson"
	"github.com/belfry-go/belfry/keys"
	"regexp"
	"strings"
	"time"
	"unicode/utf8"
)

// Trigger produces an instance of its survey for events of one kind (Triggers &
// Scheduler, "What each field controls").
type Trigger struct {
	// ID is stable within the survey.
	ID string `json:"id"`
	// Enabled is the off-switch without removing the trigger.
	Enabled bool `json:"enabled"`
	// EventKind is that of the ingest calls which the trigger answers.
	EventKind string `json:"eventKind"`
	// Filter says which events of that kind produce an instance; nil: all. Its
	// paths are templateId, recipient.* and candidate.*.
	Filter *Filter `json:"filter,omitempty"`
	// DedupRecipe lists the paths whose values tell one event from another.
	DedupRecipe []string `json:"dedupRecipe"`
	// DedupStrict fails an event that has no value at a path of the recipe; else it counts
	// as empty, so that a misspelt path makes events alike.
	DedupStrict bool       `json:"dedupStrict,omitempty"`
	DedupScope  DedupScope `json:"dedupScope,omitempty"`
	Schedule    Schedule   `json:"schedule"`
	// Channel is the key of the channel, resolved when the link is sent; or [NoChannel].
	Channel string `json:"channel"`
	// ExpiresAfter is the absolute limit of an instance, from its event on; nil: none.
	ExpiresAfter *Duration `json:"expiresAfter,omitempty"`
	// ExpiryGrace is how long an instance stays open after its last send; nil:
	// that of [Options].
	ExpiryGrace *Duration `json:"expiryGrace,omitempty"`
	// Contact says which of its customers are asked; nil: all.
	Contact *Contact `json:"contact,omitempty"`
	// Subscribers route the response; none: every registered subscriber gets it.
	Subscribers []Route `json:"subscribers,omitempty"`
}

// Contact is how often customers are asked, counted in links: a link's own reminders
// never keep it back. A link that is not to be sent ends as skipped, and its event makes
// no other.
type Contact struct {
	// NotAskedWithin skips a link if another one was sent to its customer, or reminded
	// of, so short a time ago; nil: none is skipped. Customers are known by their
	// reference, so an event without one fails.
	NotAskedWithin *Duration `json:"notAskedWithin,omitempty"`
	// Group narrows that to the links of triggers of the same Group, of whichever
	// surveys; empty: all links count. A trigger may be of a group without a rule.
	Group string `json:"group,omitempty"`
	// Sample is the share of events that are asked about, in percent from 1 to 99; zero:
	// all. The same event always has the same luck.
	Sample int `json:"sample,omitempty"`
}

func (c *checker) contact(path string, rule *Contact) {
	if rule == nil {
		return
	}
	if rule.NotAskedWithin != nil {
		c.delay(strictjson.Member(path, "notAskedWithin"), *rule.NotAskedWithin, time.Minute)
	}
	c.characters(strictjson.Member(path, "group"), rule.Group, maxName, "")
	if rule.Sample < 0 || rule.Sample > 99 {
		c.add(strictjson.Member(path, "sample"), "is %d, not from 1 to 99 percent", rule.Sample)
	}
}

// DedupScope says within what a duplicate is one.
type DedupScope string

// The scopes of a dedup recipe.
const (
	DedupTrigger DedupScope = "trigger" // the default: two triggers do not swallow each other's events
	DedupSurvey  DedupScope = "survey"  // as in the document: the survey's triggers share one set of hashes
)

// Schedule says when a link is sent.
type Schedule struct {
	// InitialDelay is from the event to the first send.
	InitialDelay Duration `json:"initialDelay"`
	// Reminders are the delays of further sends, each since the one before.
	Reminders []Duration `json:"reminders,omitempty"`
}

// Route sends a response to one subscriber.
type Route struct {
	Key string `json:"key"`
	// Filter is evaluated over the answers by question id; nil: always.
	Filter *Filter `json:"filter,omitempty"`
}

// maxDelay bounds every length of time in a trigger, and the whole schedule.
const maxDelay = 5 * 366 * oneDay

func (c *checker) triggers(d *Definition) {
	c.length("triggers", len(d.Triggers), MaxTriggers)
	ids := c.once()
	for i := range d.Triggers {
		at := strictjson.Element("triggers", i)
		ids.say(strictjson.Member(at, "id"), d.Triggers[i].ID)
		c.trigger(at, &d.Triggers[i])
		c.subscribers(strictjson.Member(at, "subscribers"), d, d.Triggers[i].Subscribers)
	}
	c.length("openLinks", len(d.OpenLinks), MaxTriggers)
	for i, l := range d.OpenLinks {
		at := strictjson.Element("openLinks", i)
		c.id(strictjson.Member(at, "id"), l.ID)
		ids.say(strictjson.Member(at, "id"), l.ID)
		c.subscribers(strictjson.Member(at, "subscribers"), d, l.Subscribers)
	}
}

func (c *checker) trigger(at string, t *Trigger) {
	c.id(strictjson.Member(at, "id"), t.ID)
	c.line(strictjson.Member(at, "eventKind"), t.EventKind, maxName)
	c.filter(strictjson.Member(at, "filter"), t.Filter, pathProblem)
	c.recipe(strictjson.Member(at, "dedupRecipe"), t.DedupRecipe)
	if t.DedupScope != "" && t.DedupScope != DedupTrigger && t.DedupScope != DedupSurvey {
		c.add(strictjson.Member(at, "dedupScope"), "%.40q is neither trigger nor survey", t.DedupScope)
	}
	c.schedule(at, t)
	if t.Channel == NoChannel {
		c.handed(at, t)
	} else {
		c.channel(strictjson.Member(at, "channel"), t.Channel)
	}
	c.contact(strictjson.Member(at, "contact"), t.Contact)
}

// NoChannel is the Channel of a trigger whose links the host delivers itself. They count as
// sent when their event is ingested.
const NoChannel = "none"

// OpenLink is a link for everybody, as a poster or a page shows it: an instance is made with each
// response. No contact rule applies, since the customer is not known.
type OpenLink struct {
	// ID is unique among the triggers, too, which results and responses have it for.
	ID      string `json:"id"`
	Enabled bool   `json:"enabled"`
	// Subscribers are those of a [Trigger].
	Subscribers []Route `json:"subscribers,omitempty"`
}

// OpenChannel is the Channel of an open link as a trigger.
const OpenChannel = "open"

// handed checks such a trigger: its links are not sent.
func (c *checker) handed(at string, t *Trigger) {
	const needs = "needs a channel that sends"
	path := strictjson.Member(at, "schedule")
	if t.Schedule.InitialDelay != 0 {
		c.add(strictjson.Member(path, "initialDelay"), needs)
	}
	if len(t.Schedule.Reminders) > 0 {
		c.add(strictjson.Member(path, "reminders"), needs)
	}
	if t.Contact != nil && t.Contact.NotAskedWithin != nil {
		c.add(strictjson.Member(strictjson.Member(at, "contact"), "notAskedWithin"), needs)
	}
}

func (c *checker) recipe(path string, recipe []string) {
	if len(recipe) == 0 {
		c.add(path, "is empty: every event would be the same")
	}
	c.length(path, len(recipe), maxRecipe)
	paths := c.once()
	for i, p := range recipe {
		at := strictjson.Element(path, i)
		if problem := pathProblem(p); problem != "" {
			c.add(at, "%s", problem)
		}
		if strings.Contains(p, "=") {
			c.add(at, "holds an equals sign, which stands between path and value in what is hashed")
		}
		c.characters(at, p, maxName, "")
		paths.say(at, p)
	}
}

// dimensions checks by what results are counted.
func (c *checker) dimensions(paths []string) {
	c.length("dimensions", len(paths), maxDimensions)
	once := c.once()
	for i, p := range paths {
		at := strictjson.Element("dimensions", i)
		c.eventValue(at, p)
		once.say(at, p)
	}
}

// eventValue checks a path of an event's payload.
func (c *checker) eventValue(at, path string) {
	if pathProblem(path) != "" || !strings.HasPrefix(path, candidatePath) {
		c.add(at, "is not a path of an event's payload, such as candidate.dealerId")
	}
	c.characters(at, path, maxName, "")
}

// eventPath are the paths that an event has values at.
var eventPath = regexp.MustCompile(`^(templateId|recipient\.(address|locale|customerRef)|candidate\.(?s:.)+)$`)

// pathProblem says why no event has anything at a path. A path of the payload may be
// misspelt all the same: what is in payloads is not known.
func pathProblem(path string) string {
	switch {
	case !eventPath.MatchString(path):
		return "is not one of templateId, recipient.address, recipient.locale, recipient.customerRef and candidate.…"
	case strings.HasSuffix(path, "."):
		return "ends with a dot, as no path of an event does"
	case len(path) > keys.MaxPartLen && utf8.RuneCountInString(path) <= maxName:
		return fmt.Sprintf("has %d bytes, more than the %d of the longest path of an event", len(path), keys.MaxPartLen)
	}
	return ""
}

// schedule checks the lengths of time of a trigger.
func (c *checker) schedule(at string, t *Trigger) {
	path := strictjson.Member(at, "schedule")
	c.delay(strictjson.Member(path, "initialDelay"), t.Schedule.InitialDelay, 0)
	reminders := strictjson.Member(path, "reminders")
	c.length(reminders, len(t.Schedule.Reminders), maxReminders)
	for i, r := range t.Schedule.Reminders {
		c.delay(strictjson.Element(reminders, i), r, time.Minute)
	}
	if t.ExpiryGrace != nil {
		c.delay(strictjson.Member(at, "expiryGrace"), *t.ExpiryGrace, time.Minute)
	}
	whole, ok := t.Schedule.length()
	if !ok {
		c.add(path, "is longer than %d days altogether", maxDelay/oneDay)
	}
	if t.ExpiresAfter == nil {
		return
	}
	path = strictjson.Member(at, "expiresAfter")
	c.delay(path, *t.ExpiresAfter, time.Minute)
	if ok && *t.ExpiresAfter < whole {
		c.add(path, "is %v, shorter than initialDelay and all reminders together, %v", *t.ExpiresAfter, whole)
	}
}

// length is the time from an event to the last reminder; ok is false if it is longer
// than maxDelay.
func (s Schedule) length() (sum Duration, ok bool) {
	sum = s.InitialDelay
	for _, r := range s.Reminders {
		if sum > Duration(maxDelay) || r > Duration(maxDelay) {
			return 0, false
		}
		sum += r
	}
	return sum, sum <= Duration(maxDelay)
}

func (c *checker) delay(path string, d Duration, least time.Duration) {
	switch {
	case d < Duration(least):
		c.add(path, "is %v, less than %v", d, Duration(least))
	case d > Duration(maxDelay):
		c.add(path, "is %v, more than %d days", d, maxDelay/oneDay)
	}
}

var channelKey = regexp.MustCompile(`^[a-z][a-z0-9_-]{0,49}:[A-Za-z0-9][A-Za-z0-9_.:-]{0,99}$`)

func (c *checker) channel(path, key string) {
	if !channelKey.MatchString(key) {
		c.add(path, `%.40q is not a key of a channel, such as "email:smtp": the delivery method, a colon, the transport`, key)
	}
}

func (c *checker) subscribers(path string, d *Definition, routes []Route) {
	c.length(path, len(routes), maxSubscribers)
	subscribers := c.once()
	for i, r := range routes {
		at := strictjson.Element(path, i)
		c.line(strictjson.Member(at, "key"), r.Key, maxName)
		subscribers.say(strictjson.Member(at, "key"), r.Key)
		c.filter(strictjson.Member(at, "filter"), r.Filter, d.unasked)
	}
}

// filter checks a filter and that there is something at its paths.
func (c *checker) filter(path string, f *Filter, problem func(questionID string) string) {
	if f == nil || c.told[path] {
		return
	}
	if faults := f.Validate(); len(faults) > 0 {
		for _, fault := range faults {
			c.add(strictjson.Below(path, fault.Path), "%s", fault.Problem)
		}
		return
	}
	for at, condition := range f.Conditions() {
		if p := problem(condition.QuestionID); p != "" {
			c.add(strictjson.Below(path, strictjson.Member(at, "questionId")), "%s", p)
		}
	}
}
