package support

import (
	"slices"
	"strings"

	"github.com/belfry-go/belfry/automation"
	"github.com/belfry-go/belfry/internal/sentence"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/reasons"
	"github.com/belfry-go/belfry/survey"
)

// State is the state of an entry in one word. All pages and lists use it.
type State string

// The states. Those of messages are the stages of package notify.
const (
	StatePlanned = State("Planned")
	StateWaiting = State(notify.StageWaiting)
	StateSending = State(notify.StageSending)
	StateSent    = State(notify.StageSent)
	StateArrived = State(notify.StageArrived)
	StateFailed  = State(notify.StageFailed)
	StateUnknown = State(notify.StageUnknown)
	StateOnHold  = State(notify.StageOnHold)
	StateBlocked = State(notify.StageBlocked)
	StateExpired = State(notify.StageExpired)
	StateSkipped = State(notify.StageSkipped)
	StateDone    = State("Done") // of entries without a recipient, such as an action
)

// States lists all states.
func States() []State {
	return []State{StatePlanned, StateWaiting, StateSending, StateSent, StateArrived, StateFailed, StateUnknown, StateOnHold, StateBlocked, StateExpired, StateSkipped, StateDone}
}

// blocked lists the reasons for which an address is blocked, late those for which it was
// too late.
var (
	blocked = []string{reasons.BadAddress, reasons.Suppressed}
	late    = []string{reasons.TooLate, "ExpiresAfter"}
)

// State is the state of an entry; for a message it is its stage.
func (e Entry) State() State {
	if e.stage != "" {
		return State(e.stage)
	}
	switch e.Outcome {
	case Planned:
		return StatePlanned
	case UnderWay, NeedsYou:
		switch {
		case slices.Contains(e.Can, Resolve):
			return StateUnknown
		case e.Outcome == NeedsYou:
			return StateOnHold
		case e.Status == automation.StatusProcessing:
			return StateSending
		}
		return StateWaiting
	case Sent:
		return StateSent
	case Failed:
		return StateFailed
	case Withheld:
		switch {
		case slices.Contains(blocked, e.Reason):
			return StateBlocked
		case e.Status == survey.StatusExpired || slices.Contains(late, e.Reason):
			return StateExpired
		}
		return StateSkipped
	}
	if e.Kind == KindAudit || e.Kind == KindReplan || e.Kind == KindErasure || e.Kind == KindResponse {
		return StateDone
	}
	return StateArrived
}

// Because says in a line why it is in its state, without personal data. It may be empty.
func (e Entry) Because() string {
	switch {
	case e.Kind == KindAudit || e.Kind == KindPause || e.Kind == KindOutage || e.Kind == KindReplan || e.Kind == KindErasure || e.Kind == KindConflict || e.Kind == KindDead || e.Kind == KindResponse:
		return sentence.Capital(e.What) + "."
	case e.bounced && e.Reason == reasons.Bounced:
		return "It came back."
	case e.bounced:
		return "It came back: " + reasonText(e.ReasonBy, e.Reason) + "."
	case e.Reason != "":
		return sentence.Capital(reasonText(e.ReasonBy, e.Reason)) + "."
	}
	switch e.State() {
	case StatePlanned:
		return "It is checked once more before it goes out."
	case StateWaiting:
		return "It has not gone out yet."
	case StateSending:
		return "The provider is being called."
	case StateSent:
		if text, ok := strings.CutPrefix(e.What, e.Title()+": "); ok && text != sentText {
			return sentence.Capital(text) + "."
		}
		return "The provider took it. No word yet that it arrived."
	case StateArrived:
		if text, ok := strings.CutPrefix(e.What, e.Title()+": "); ok && text != "arrived" {
			return sentence.Capital(text) + "."
		}
		return "The provider says that it arrived."
	}
	return ""
}

// Who gives codes that are not Belfry's: a provider or channel that was called, the
// program (a gate, a validator), or either.
const (
	byBelfry   = "belfry"
	byProvider = "provider"
	byProgram  = "program"
	byEither   = "either"
)

// giver is who gave a code that is not a provider's: Belfry, or the program.
func giver(code string) string {
	switch {
	case code == "":
		return ""
	case words[code] != "":
		return byBelfry
	}
	return byProgram
}

// giverOfWork is who gave the code of a reminder or a run. A validator of the program may
// use a word that Belfry has for messages, such as Cancelled.
func giverOfWork(code string) string {
	if code != "" && !ofWork[code] {
		return byProgram
	}
	return giver(code)
}

// codeBy is who gave the reason code of a message or link.
func codeBy(code string, called bool, o Outcome) string {
	switch by := giver(code); {
	case by != byProgram || !called || o == Withheld:
		return by
	case o == UnderWay:
		return byEither
	}
	return byProvider
}

// reasonText explains a code to people.
func reasonText(by, code string) string {
	switch {
	case by == byBelfry:
		return words[code]
	case by == byProvider, by == byEither && codesOfProviders[code] != "":
		return plain(code)
	case by == byEither:
		return "the last reason was: " + code
	}
	return "the program's reason was: " + code
}

// bare is reasonText without the provider's code at its end.
func bare(by, code string) string {
	return strings.TrimSuffix(reasonText(by, code), " ("+code+")")
}

// plain explains the code of a provider or a channel, followed by the code.
func plain(code string) string {
	if text := codesOfProviders[code]; text != "" {
		return text + " (" + code + ")"
	}
	return "the provider answered with the code " + code
}

// advice is what to do about a provider's code; empty: support can do nothing.
func advice(code string) string {
	switch code {
	case "550", "551", "553", "5.1.1", "410":
		return "Ask the recipient for another address."
	case "552", "5.2.2":
		return "Ask the recipient to make room, then send it again."
	case "401", "402", "403", "530", "535", "credentials":
		return "Ask an engineer to renew the provider's key or account."
	}
	return ""
}

// codesOfProviders explains the codes of mail servers (RFC 5321, RFC 3463), of HTTP, and
// of Belfry's channels.
var codesOfProviders = map[string]string{
	"421": "the mail server was not available", "450": "the mailbox was busy", "451": "the mail server had an internal error", "452": "the mail server was out of space",
	"530": "the mail server asks for a password", "535": "the mail server did not accept our password", "550": "the mailbox does not exist", "551": "the mail server does not know the recipient",
	"552": "the mailbox is full", "553": "the mail server does not accept such an address", "554": "the mail server refused the mail",
	"400": "the provider could not read the request", "401": "the provider did not accept our key", "402": "the provider's account needs a payment", "403": "the provider did not allow it",
	"404": "the provider did not find what was requested", "408": "the provider was too slow", "410": "the recipient's device is no longer registered", "413": "the message was too large",
	"422": "the provider did not accept the content of the message", "429": "the provider asked us to slow down",
	"500": "the provider had an internal error", "502": "the provider had an internal error", "503": "the provider was not available", "504": "the provider was too slow",
	"dial": "the provider could not be reached", "connect": "the provider could not be reached", "timeout": "the provider did not answer in time", "interrupted": "the connection broke",
	"closed": "the connection broke", "panic": "the program crashed while it called the provider", "error": "the channel failed", "busy": "the provider was busy", "credentials": "the provider did not accept our credentials",
	"encryption": "the mail server offers no encryption", "5.1.1": "the mailbox does not exist", "5.2.2": "the mailbox is full", "5.7.1": "the mail server refused the mail",
	"Bounced": "it came back",
}
