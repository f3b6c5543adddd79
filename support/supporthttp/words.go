package supporthttp

import (
	"fmt"
	"slices"
	"strings"

	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/support"
)

// word is a state, for people.
func word(s support.State) string {
	if s == support.StateOnHold {
		return "On hold"
	}
	return string(s)
}

// sign is the symbol of a state, and role its colour.
func sign(s support.State) string { return strings.ToLower(string(s)) }

func role(s support.State) string {
	switch s {
	case support.StateArrived, support.StateDone:
		return "ok"
	case support.StateSent, support.StateSending, support.StatePlanned:
		return "info"
	case support.StateWaiting, support.StateOnHold:
		return "wait"
	case support.StateFailed, support.StateBlocked:
		return "bad"
	case support.StateUnknown:
		return "odd"
	}
	return "off"
}

// label is the button of an action; "…" means that a form follows.
func label(a support.Action) string {
	if text := labels[a]; text != "" {
		return text + "…"
	}
	return string(a) + "…"
}

var labels = map[support.Action]string{
	support.Retry: "Send again", support.Rerun: "Do it once more", support.RunNow: "Run it now", support.SendTo: "Send again to another address",
	support.Replan: "Plan again", support.Replay: "Replay", support.Allow: "Allow again",
	support.Take: "Take it", support.Handle: "It is handled",
}

// phrases are actions with what they are about.
var phrases = map[support.Action]string{
	support.Release: "Release %s", support.Retry: "Send %s again", support.Rerun: "Do %s once more", support.RunNow: "Run %s now", support.Cancel: "Cancel %s",
	support.Replay: "Replay what %s did not accept", support.Pause: "Pause %s", support.Resume: "Resume %s", support.Replan: "Plan %s again",
	support.SendTo: "Send %s to another address", support.Stop: "Stop %s", support.Allow: "Allow %s again", support.Unblock: "Unblock %s", support.Erase: "Erase %s",
	support.Handle: "Note what was done about %s",
}

// Phrase says what an order does, and to whom.
func (v view) Phrase() string {
	o := v.Order
	text := phrases[o.Action]
	if o.Action == support.Resolve {
		text = "Note that %s arrived"
		if o.Decision == string(notify.DecideSendAgain) {
			text = "Send %s again"
		}
	}
	if text == "" {
		text = string(o.Action) + " %s"
	}
	return fmt.Sprintf(text, v.subject())
}

// subject is what an order is about.
func (v view) subject() string {
	o := v.Order
	if len(o.Targets) != 1 {
		return fmt.Sprintf("%d rows", len(o.Targets))
	}
	if p := o.Targets[0].Part; p != nil {
		return p.words()
	}
	e := v.Named[0]
	who := ""
	if name := or(e.Name, shown(e.Person)); name != "" {
		who = name
	}
	switch e.Kind {
	case support.KindPerson:
		switch {
		case o.Action == support.Erase:
			return or(who, "this person")
		case o.Group != "":
			return fmt.Sprintf("“%s” for %s", o.Group, or(who, "this person"))
		}
		return "all messages to " + or(who, "this person")
	case support.KindAddress:
		_, address, _ := strings.Cut(shown(e.Key), ":")
		return or(address, "the address")
	}
	text := "“" + e.Title() + "”"
	if e.Type == "" {
		text = strings.ToLower(string(e.Kind)) + " " + shown(e.Key)
	}
	if who != "" && who != "hidden" {
		text += " for " + who
	}
	return text
}

func or(all ...string) string {
	i := slices.IndexFunc(all, func(s string) bool { return s != "" })
	return all[max(i, 0)]
}

// words are a part of the work, for people.
func (p part) words() string {
	what := map[string]string{"automation": "reminders", "notify": "messages", "survey": "surveys"}[p.Domain]
	switch {
	case p.Subscriber != "":
		return p.Subscriber
	case !p.From.IsZero():
		what = "all messages of unknown outcome by " + p.Channel
	case p.Channel != "":
		what = "the channel " + p.Channel
	case p.Setting != "":
		what = "reminders of the setting " + p.Setting
	case p.Type != "":
		what += " of " + p.Type
	default:
		what = "all " + what
	}
	if p.Everywhere {
		what += " of all tenants"
	}
	return what
}

// Title is what a row is about: its type, and which occasion.
func (e entry) Title() string { return support.Entry{Type: e.Type, Occasion: e.Occasion}.Title() }
