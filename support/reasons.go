package support

import (
	_ "embed" // the page of reason codes
	"strings"
	"sync"

	"github.com/belfry-go/belfry/internal/sentence"
)

// reasonPage is reason-codes.md, which is printed from the comments in the code.
//
//go:embed reason-codes.md
var reasonPage string

// Code is a reason code with what it means and what to do about it.
type Code struct {
	Package string // "automation", "automation/report", "notify", "notify/gate", "survey"
	Code    string
	Means   string
}

// Codes lists all reason codes, in the order of reason-codes.md. Codes of hosts, channels
// and revalidators are not included.
func Codes() []Code { return codes() }

var codes = sync.OnceValue(func() (out []Code) {
	of := ""
	for line := range strings.Lines(reasonPage) {
		line = strings.TrimSpace(line)
		if name, ok := strings.CutPrefix(line, "## Package "); ok {
			of = name
			continue
		}
		entry, ok := strings.CutPrefix(line, "- `")
		if code, means, found := strings.Cut(entry, "`: "); ok && found {
			out = append(out, Code{of, code, strings.ReplaceAll(means, "`", "")})
		}
	}
	return out
})

var meanings = sync.OnceValue(func() map[Code]string {
	out := map[Code]string{}
	for _, c := range codes() {
		key := Code{Package: c.Package, Code: c.Code}
		if out[key] == "" { // a hold and a state may have the same code: the hold comes first
			out[key] = c.Means
		}
	}
	return out
})

// Meaning explains a code of a package and says what to do. For a code that is not
// Belfry's it says whose it is. The package is the Package of an [Entry].
func Meaning(of, code string) string {
	of = home(of, code)
	if text := meanings()[Code{Package: of, Code: code}]; text != "" {
		return text
	}
	switch {
	case codesOfProviders[code] != "" && (of == ofProvider || of == ofEither):
		return advice(code)
	case of == ofProvider:
		return "The provider gave this code. Its documentation explains it."
	case of == ofEither:
		return "The provider or the program gave this code."
	}
	return "The program gave this code as the reason."
}

// home is the package that explains a code of a message. Codes of gates are explained in
// notify/gate, and a link has the codes of its messages, too.
func home(of, code string) string {
	if of == "survey" && meanings()[Code{Package: of, Code: code}] == "" {
		if notified := home("notify", code); meanings()[Code{Package: notified, Code: code}] != "" {
			return notified
		}
	}
	if gate := of + "/gate"; meanings()[Code{Package: of, Code: code}] == "" && meanings()[Code{Package: gate, Code: code}] != "" {
		return gate
	}
	return of
}

// why is the end of a sentence that explains a code.
func why(of, code string) string {
	of = home(of, code)
	if text := words[of+" "+code]; text != "" {
		return "since " + text + " (" + code + ")"
	}
	return "since " + reasonText(of, code)
}

// words explains each code to people; the text follows "since".
var words = map[string]string{
	"automation SourceNoLongerValid":     "what it was about is no longer valid",
	"automation ReminderSettingInactive": "its setting was switched off",
	"automation InputChanged":            "something else was asked for in its place",
	"automation Superseded":              "its source changed",
	"automation ThresholdNoLongerMet":    "the measurement was no longer past its threshold",
	"automation Invalidated":             "the program ended it",
	"automation TooLate":                 "it was later than its type allows",
	"automation Overtaken":               "a later one was due too and went instead",
	"automation SentByOldJob":            "the previous scheduler had already sent it",
	"automation Shadow":                  "the previous scheduler still sends it",
	"automation NoRecipients":            "no recipient or address was on file",
	"automation SkippedByPolicy":         "the program's delivery policy left out every recipient",
	"automation HandlerFailed":           "the program failed",
	"automation HandlerPanicked":         "the program crashed",
	"automation LeaseExpired":            "a worker died or stalled",
	"automation InputConflict":           "it was asked for twice with different contents",
	"automation DeliveryConflict":        "it was already asked for with different contents",
	"automation OwnershipConflict":       "the previous scheduler has it, too",
	"automation RetriesExhausted":        "the last try failed",
	"automation PermanentFailure":        "the program refused it for good",
	"automation Undecodable":             "this version of the program cannot read it",
	"automation Unserved":                "no running program handles its type",
	"automation HeldBySupport":           "a person put it on hold",
	"automation CancelledBySupport":      "a person cancelled it",
	"automation PersonErased":            "the person it was about was erased",

	"automation/report SubscriptionInactive": "its subscription was paused or deactivated",
	"automation/report ReportEmpty":          "the report had nothing to say",

	"notify Conflict":              "a different one was already asked for under the same name",
	"notify RetriesExhausted":      "the last try failed",
	"notify OutcomeUnknown":        "it is unknown whether it was sent",
	"notify Unserved":              "no running program has its type or its channel",
	"notify ChannelIncapable":      "its channel cannot do what its type needs",
	"notify Erased":                "its recipient was erased",
	"notify EmptyDigest":           "nothing was in the digest",
	"notify Read":                  "the recipient had read it in the inbox",
	"notify Snoozed":               "the recipient put it off in the inbox",
	"notify Refused":               "the provider refused it",
	"notify Bounced":               "it came back",
	"notify NoRecipients":          "no recipient was on file",
	"notify NoDestination":         "the recipient had neither a channel nor an inbox",
	"notify BadAddress":            "messages cannot be delivered to the address",
	"notify RenderFailed":          "its text could not be prepared",
	"notify ArtifactMissing":       "the request it belongs to does not exist",
	"notify LeaseLost":             "a worker died or stalled",
	"notify PassFailed":            "it could not be handled or stored",
	"notify TooLate":               "it was out of date before it could be sent",
	"notify RevalidationFailed":    "it is unknown whether it is still wanted",
	"notify InDoubt":               "a call ended without an answer",
	"notify Absent":                "the provider does not have it",
	"notify IdempotencyWindowOver": "the provider no longer recognises a repeat of it",
	"notify AttachmentMissing":     "an attachment could not be read",
	"notify NotSeeded":             "its type is not in the catalogue",
	"notify Disabled":              "its type was switched off",
	"notify NoSubscribers":         "it had no subscribers",
	"notify PayloadIncompatible":   "this version of the program cannot read its list of recipients",
	"notify PayloadMissing":        "its list of recipients is missing",
	"notify HashKeyChanged":        "the key that identifies recipients was changed while it ran",
	"notify CampaignCancelled":     "a person cancelled its campaign",
	"notify Cancelled":             "a person cancelled it",
	"notify Forgotten":             "the database has lost what was recorded at that time",
	"notify Quarantine":            "the database is a copy from another environment, or has lost the record of what was sent",
	"notify/gate NotAllowed":       "messages to the recipient are not allowed in this environment",
	"notify Paused":                "it is paused",
	"notify Suppressed":            "the address bounced, complained, unsubscribed or was suppressed",
	"notify OptedOut":              "the recipient has opted out of it",
	"notify NoConsent":             "the recipient has not asked for it",
	"notify StoppedBySupport":      "a person has stopped messages to the recipient",
	"notify/gate FrequencyCap":     "the recipient had already received as many as the limit allows",
	"notify/gate QuietHours":       "it was during quiet hours where the recipient lives",
	"notify/gate RateLimit":        "its channel had reached its sending limit",
	"notify GateFailed":            "a check before sending failed",
	"notify NoChannel":             "there was no channel to send it by",
	"notify Exists":                "it had already been sent or ended",

	"survey BadAddress":        "messages cannot be delivered to the address",
	"survey RenderFailed":      "its text could not be prepared",
	"survey ContentRefused":    "its text cannot be sent as it is",
	"survey LinkFailed":        "its link could not be made",
	"survey VersionUnreadable": "the survey's version could not be read",
	"survey PassFailed":        "it could not be handled or stored",
	"survey LeaseLost":         "a worker died or stalled",
	"survey InDoubt":           "a call ended without an answer",
	"notify NoOwner":           "another program has to send it",
	"survey LinkOver":          "its link has ended, was answered, or is on hold",
	"survey WrongHashKey":      "the program has another key of recipients than its database",
	"survey AskedLately":       "the customer had been asked another survey recently",
	"survey AskedAtOnce":       "another link is being sent to the customer",
	"survey NotSampled":        "only a sample is asked, and this one was not in it",
	"survey TooLate":           "it could not be sent in time",
	"survey ExpiresAfter":      "it had expired",
	"survey HeldBySupport":     "a person put it on hold",
	"survey StoppedBySupport":  "a person stopped its sends",
}

// ReasonWords explains a code of a package in a short sentence, without a period.
func ReasonWords(of, code string) string { return sentence.Capital(reasonText(of, code)) }
