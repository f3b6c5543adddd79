package support

import (
	_ "embed" // the page of reason codes
	"strings"
	"sync"

	"github.com/belfry-go/belfry/internal/sentence"
	"github.com/belfry-go/belfry/reasons"
)

// reasonPage is reason-codes.md, which is printed from the comments in the code.
//
//go:embed reason-codes.md
var reasonPage string

// Code is a reason code of package reasons, with what it means and what to do about it.
type Code struct{ Code, Means string }

// Codes lists all reason codes, in the order of reason-codes.md. Codes of hosts, channels
// and revalidators are not included.
func Codes() []Code { return codes() }

var codes = sync.OnceValue(func() (out []Code) {
	for line := range strings.Lines(reasonPage) {
		entry, ok := strings.CutPrefix(strings.TrimSpace(line), "- `")
		if code, means, found := strings.Cut(entry, "`: "); ok && found {
			out = append(out, Code{code, strings.ReplaceAll(means, "`", "")})
		}
	}
	return out
})

var meanings = sync.OnceValue(func() map[string]string {
	out := map[string]string{}
	for _, c := range codes() {
		out[c.Code] = c.Means
	}
	return out
})

// Meaning explains a code and says what to do. For a code that is not Belfry's it says
// whose it is, by the ReasonBy of an [Entry].
func Meaning(by, code string) string {
	switch {
	case by == byBelfry:
		return meanings()[code]
	case codesOfProviders[code] != "" && by != byProgram:
		return advice(code)
	case by == byProvider:
		return "The provider gave this code. Its documentation explains it."
	case by == byEither:
		return "The provider or the program gave this code."
	}
	return "The program gave this code as the reason."
}

// why is the end of a sentence that explains a code.
func why(by, code string) string {
	if by == byBelfry {
		return "since " + words[code] + " (" + code + ")"
	}
	return "since " + reasonText(by, code)
}

// ofWork are the codes that package automation and reports give to reminders and runs.
var ofWork = map[string]bool{
	reasons.SourceNoLongerValid: true, reasons.ReminderSettingInactive: true, reasons.InputChanged: true, reasons.Superseded: true,
	reasons.ThresholdNoLongerMet: true, reasons.Invalidated: true, reasons.Overtaken: true, reasons.SentByOldJob: true, reasons.Shadow: true,
	reasons.SkippedByPolicy: true, reasons.PersonErased: true, reasons.SubscriptionInactive: true, reasons.ReportEmpty: true,
	reasons.CancelledBySupport: true, reasons.InputConflict: true, reasons.DeliveryConflict: true, reasons.OwnershipConflict: true,
	reasons.RetriesExhausted: true, reasons.PermanentFailure: true, reasons.Undecodable: true, reasons.Unserved: true, reasons.HeldBySupport: true,
	reasons.HandlerFailed: true, reasons.HandlerPanicked: true, reasons.LeaseExpired: true, reasons.NoRecipients: true, reasons.TooLate: true,
}

// words explains each code to people; the text follows "since".
var words = map[string]string{
	reasons.SourceNoLongerValid:     "what it was about is no longer valid",
	reasons.ReminderSettingInactive: "its setting was switched off",
	reasons.InputChanged:            "something else was asked for in its place",
	reasons.Superseded:              "its source changed",
	reasons.ThresholdNoLongerMet:    "the measurement was no longer past its threshold",
	reasons.Invalidated:             "the program ended it",
	reasons.Overtaken:               "a later one was due too and went instead",
	reasons.SentByOldJob:            "the previous scheduler had already sent it",
	reasons.Shadow:                  "the previous scheduler still sends it",
	reasons.SkippedByPolicy:         "the program's delivery policy left out every recipient",
	reasons.PersonErased:            "the person it was about was erased",
	reasons.SubscriptionInactive:    "its subscription was paused or deactivated",
	reasons.ReportEmpty:             "the report had nothing to say",
	reasons.CancelledBySupport:      "a person cancelled it",
	reasons.Conflict:                "a different one was already asked for under the same name",
	reasons.InputConflict:           "it was asked for twice with different contents",
	reasons.DeliveryConflict:        "it was already asked for with different contents",
	reasons.OwnershipConflict:       "the previous scheduler has it, too",
	reasons.RetriesExhausted:        "the last try failed",
	reasons.PermanentFailure:        "the program refused it for good",
	reasons.Refused:                 "the provider refused it",
	reasons.OutcomeUnknown:          "it is unknown whether it was sent",
	reasons.Undecodable:             "this version of the program cannot read it",
	reasons.Unserved:                "no running program has its type or its channel",
	reasons.HeldBySupport:           "a person put it on hold",
	reasons.HandlerFailed:           "the program failed",
	reasons.HandlerPanicked:         "the program crashed",
	reasons.LeaseExpired:            "a worker died or stalled",
	reasons.LeaseLost:               "a worker died or stalled",
	reasons.PassFailed:              "it could not be handled or stored",
	reasons.RenderFailed:            "its text could not be prepared",
	reasons.ArtifactMissing:         "the request it belongs to does not exist",
	reasons.AttachmentMissing:       "an attachment could not be read",
	reasons.PayloadIncompatible:     "this version of the program cannot read its list of recipients",
	reasons.PayloadMissing:          "its list of recipients is missing",
	reasons.HashKeyChanged:          "the key that identifies recipients was changed while it ran",
	reasons.WrongHashKey:            "the program has another key of recipients than its database",
	reasons.RevalidationFailed:      "it is unknown whether it is still wanted",
	reasons.GateFailed:              "a check before sending failed",
	reasons.NoChannel:               "there was no channel to send it by",
	reasons.ChannelIncapable:        "its channel cannot do what its type needs",
	reasons.NoOwner:                 "another program has to send it",
	reasons.InDoubt:                 "a call ended without an answer",
	reasons.Absent:                  "the provider does not have it",
	reasons.IdempotencyWindowOver:   "the provider no longer recognises a repeat of it",
	reasons.Forgotten:               "the database has lost what was recorded at that time",
	reasons.NoRecipients:            "no recipient or address was on file",
	reasons.NoDestination:           "the recipient had neither a channel nor an inbox",
	reasons.BadAddress:              "messages cannot be delivered to the address",
	reasons.Bounced:                 "it came back",
	reasons.TooLate:                 "it was too late to send it",
	reasons.NotSeeded:               "its type is not in the catalogue",
	reasons.Disabled:                "its type was switched off",
	reasons.NoSubscribers:           "it had no subscribers",
	reasons.CampaignCancelled:       "a person cancelled its campaign",
	reasons.Cancelled:               "a person cancelled it",
	reasons.Erased:                  "its recipient was erased",
	reasons.Quarantine:              "the database is a copy from another environment, or has lost the record of what was sent",
	reasons.Paused:                  "it is paused",
	reasons.Suppressed:              "the address bounced, complained, unsubscribed or was suppressed",
	reasons.OptedOut:                "the recipient has opted out of it",
	reasons.NoConsent:               "the recipient has not asked for it",
	reasons.StoppedBySupport:        "a person has stopped messages to the recipient",
	reasons.Read:                    "the recipient had read it in the inbox",
	reasons.Snoozed:                 "the recipient put it off in the inbox",
	reasons.NotAllowed:              "messages to the recipient are not allowed in this environment",
	reasons.FrequencyCap:            "the recipient had already received as many as the limit allows",
	reasons.QuietHours:              "it was during quiet hours where the recipient lives",
	reasons.RateLimit:               "its channel had reached its sending limit",
	reasons.EmptyDigest:             "nothing was in the digest",
	reasons.Exists:                  "it had already been sent or ended",
	reasons.ContentRefused:          "its text cannot be sent as it is",
	reasons.LinkFailed:              "its link could not be made",
	reasons.VersionUnreadable:       "the survey's version could not be read",
	reasons.LinkOver:                "its link has ended, was answered, or is on hold",
	reasons.ExpiresAfter:            "it had expired",
	reasons.AskedLately:             "the customer had been asked another survey recently",
	reasons.AskedAtOnce:             "another link is being sent to the customer",
	reasons.NotSampled:              "only a sample is asked, and this one was not in it",
	reasons.SendsStopped:            "a person stopped its sends",
}

// ReasonWords explains a code of the program or of Belfry in a short sentence, without a
// period.
func ReasonWords(code string) string { return sentence.Capital(reasonText(giver(code), code)) }
