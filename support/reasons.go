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

// Codes are all reason codes, in the order of reason-codes.md. Hosts, channels and
// revalidators add their own, which are not among them.
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
		if out[key] == "" { // a hold and a state may share a code: the hold comes first
			out[key] = c.Means
		}
	}
	return out
})

// Meaning is what a code of a package means and what to do about it; of a code that is not
// one of ours, whose it is. The package is that of an [Entry].
func Meaning(of, code string) string {
	of = home(of, code)
	if text := meanings()[Code{Package: of, Code: code}]; text != "" {
		return text
	}
	switch {
	case codesOfProviders[code] != "" && (of == ofProvider || of == ofEither):
		return advice(code)
	case of == ofProvider:
		return "A code of the provider, whose documentation says what it means."
	case of == ofEither:
		return "A code of the provider, or of the program."
	}
	return "A code of the program, which gave it as the reason."
}

// home is the package that a code of a message is explained in: its gates have codes of
// their own, and a link has those of its messages, too.
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

// why is a code as the end of a sentence, for people who do not know the code.
func why(of, code string) string {
	of = home(of, code)
	if text := words[of+" "+code]; text != "" {
		return "since " + text + " (" + code + ")"
	}
	return "since " + reasonText(of, code)
}

// words say each code to people, after "since".
var words = map[string]string{
	"automation SourceNoLongerValid":     "what it was about is no longer valid",
	"automation ReminderSettingInactive": "its setting was off",
	"automation InputChanged":            "something else was asked for in its place",
	"automation Superseded":              "its source changed",
	"automation ThresholdNoLongerMet":    "the measurement was no longer past its threshold",
	"automation Invalidated":             "the host's program ended it",
	"automation TooLate":                 "it was later than its type allows",
	"automation Overtaken":               "a later one was due too and went instead",
	"automation SentByOldJob":            "the scheduler before this one had sent it",
	"automation Shadow":                  "the scheduler before this one does it",
	"automation NoRecipients":            "no recipient or address was on file",
	"automation SkippedByPolicy":         "the program's delivery policy left out every recipient",
	"automation HandlerFailed":           "the host's program failed",
	"automation HandlerPanicked":         "the host's program broke down",
	"automation LeaseExpired":            "a worker died or stalled",
	"automation InputConflict":           "it was asked for twice with different contents",
	"automation DeliveryConflict":        "another delivery stands under its name",
	"automation OwnershipConflict":       "the scheduler before this one has it too",
	"automation RetriesExhausted":        "the last try failed",
	"automation PermanentFailure":        "the host's program refused it for good",
	"automation Undecodable":             "it cannot be read by this version",
	"automation Unserved":                "no process has its type",
	"automation HeldBySupport":           "a person put it on hold",
	"automation CancelledBySupport":      "a person cancelled it",
	"automation PersonErased":            "whom it was about was erased",

	"automation/report SubscriptionInactive": "its subscription was paused or deactivated",
	"automation/report ReportEmpty":          "the report had nothing to say",

	"notify Conflict":              "something else stands under its name",
	"notify RetriesExhausted":      "the last try failed",
	"notify OutcomeUnknown":        "it is unknown whether it was sent",
	"notify Unserved":              "no process has its type or its channel",
	"notify ChannelIncapable":      "its channel cannot do what its type needs",
	"notify Erased":                "its recipient was erased",
	"notify EmptyDigest":           "nothing was in the digest",
	"notify Read":                  "the recipient had read it in the inbox",
	"notify Snoozed":               "the recipient has put it off in the inbox",
	"notify Refused":               "the provider refused it",
	"notify Bounced":               "it came back",
	"notify NoRecipients":          "no recipient was on file",
	"notify NoDestination":         "the recipient had neither a channel nor an inbox",
	"notify BadAddress":            "the address is not one that can be delivered to",
	"notify RenderFailed":          "its text could not be made",
	"notify ArtifactMissing":       "what it belongs to does not exist",
	"notify LeaseLost":             "a worker died or stalled",
	"notify PassFailed":            "it could not be handled or stored",
	"notify TooLate":               "it was stale before it could be sent",
	"notify RevalidationFailed":    "it is unknown whether it is still wanted",
	"notify InDoubt":               "a call ended without an answer",
	"notify Absent":                "the provider does not have it",
	"notify IdempotencyWindowOver": "the provider no longer filters repeats of it",
	"notify AttachmentMissing":     "an attachment could not be read",
	"notify NotSeeded":             "the catalogue does not know its type",
	"notify Disabled":              "its type was switched off",
	"notify NoSubscribers":         "it had no subscribers",
	"notify PayloadIncompatible":   "its audience cannot be read by this version",
	"notify PayloadMissing":        "its audience is missing",
	"notify HashKeyChanged":        "the key of recipients was changed in the middle of it",
	"notify CampaignCancelled":     "a person cancelled its campaign",
	"notify Cancelled":             "a person cancelled it",
	"notify Forgotten":             "the database has forgotten what was done at that time",
	"notify Quarantine":            "the database is a copy of another environment's, or has forgotten what was sent",
	"notify/gate NotAllowed":       "the recipient may get nothing in this environment",
	"notify Paused":                "it is paused",
	"notify Suppressed":            "the address bounced, complained, unsubscribed or was suppressed",
	"notify OptedOut":              "the recipient has opted out of it",
	"notify NoConsent":             "the recipient has not asked for it",
	"notify StoppedBySupport":      "a person has stopped messages to the recipient",
	"notify/gate FrequencyCap":     "the recipient had got as many as a cap allows",
	"notify/gate QuietHours":       "it was quiet hours where the recipient lives",
	"notify/gate RateLimit":        "the rate of its channel was used up",
	"notify GateFailed":            "a check before the call failed",
	"notify NoChannel":             "there was no channel to send it by",
	"notify Exists":                "it was sent, or ended, before",

	"survey BadAddress":        "the address is not one that can be delivered to",
	"survey RenderFailed":      "its text could not be made",
	"survey ContentRefused":    "its text is not one that can be sent",
	"survey LinkFailed":        "its link could not be made",
	"survey VersionUnreadable": "its version could not be read",
	"survey PassFailed":        "it could not be handled or stored",
	"survey LeaseLost":         "a worker died or stalled",
	"survey InDoubt":           "a call ended without an answer",
	"notify NoOwner":           "another program has to send it",
	"survey LinkOver":          "its link has ended, was answered, or is on hold",
	"survey WrongHashKey":      "the program has another key of recipients than its database",
	"survey AskedLately":       "the customer had been asked something else not long before",
	"survey AskedAtOnce":       "another link is being sent to the customer",
	"survey NotSampled":        "its event is not in the share that is asked about",
	"survey TooLate":           "it was not reached in time",
	"survey ExpiresAfter":      "its time was over",
	"survey HeldBySupport":     "a person put it on hold",
	"survey StoppedBySupport":  "a person stopped its sends",
}

// ReasonWords is what a code of a package means, as a short sentence without its end.
func ReasonWords(of, code string) string { return sentence.Capital(reasonText(of, code)) }
