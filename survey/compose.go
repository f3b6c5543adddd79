package survey

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"text/template"
	"time"

	"github.com/belfry-go/belfry/internal/calls"
	"github.com/belfry-go/belfry/internal/permanent"
	"github.com/belfry-go/belfry/internal/storable"
	"github.com/belfry-go/belfry/internal/work"
	"github.com/belfry-go/belfry/notify/channel"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/driver"
	"github.com/belfry-go/belfry/survey/form"
)

// compose makes the messages at once: the address, the link and the text. What
// fails here has called nobody.
func (s asker) compose(items []*sending) (open []*sending) {
	each(items, func(it *sending) { it.composed = s.composeOne(it.Ctx, it) })
	for _, it := range items {
		if it.composed {
			open = append(open, it)
		}
	}
	return open
}

func (s asker) composeOne(ctx context.Context, it *sending) bool {
	r := it.Row
	if it.trigger == nil {
		return s.untried(it, ReasonVersion, nil)
	}
	it.message = messageOf(r, r.Calls+1)
	to, err := channel.NormaliseAddress(channel.Method(r.Channel), r.RecipientAddress)
	if err != nil {
		return s.untried(it, ReasonBadAddress, channel.Permanent(ReasonBadAddress, nil))
	}
	it.message.To = to
	token, err := s.tokenOf(ctx, r)
	if err != nil {
		s.logUncomposed(ctx, r, "a link could not be made", slog.Any("error", err))
		return s.untried(it, ReasonLink, away(err))
	}
	link := surveyURL(s.options.SurveyURL, token, r.PublicID)
	it.message.UnsubscribeURL = s.unsubscribeURL(r, token)
	parts, err := s.render(ctx, it, link)
	if err != nil {
		s.logRender(ctx, r, err)
		return s.untried(it, ReasonRenderFailed, err)
	}
	if !parts.Sendable() {
		return s.untried(it, ReasonContent, channel.Permanent(ReasonContent, nil))
	}
	it.message.Subject, it.message.Text, it.message.HTML, it.message.Template = parts.Subject, parts.Text, parts.HTML, parts.Template
	it.message.Metadata["surveyUrl"] = link
	it.message.Locale = cmp.Or(parts.Locale, it.message.Locale)
	return true
}

// away is err if the database was away, and else nil: what is wrong otherwise is tried again.
func away(err error) error {
	if errors.Is(err, storage.ErrUnavailable) {
		return err
	}
	return nil
}

// untried settles a send that did not come to a call: a permanent error stops the
// schedule, another one is tried again; no try counts where the database was away. It returns false, for the step to pass on.
func (s asker) untried(it *sending, reason string, err error) bool {
	now := driver.Now(s.store)
	switch {
	case it.Ctx.Err() != nil: // as if it had not been claimed
	case errors.Is(err, storage.ErrUnavailable): // counts as no try either
		it.Row.NextTryOn = driver.Time(now.Add(work.AwayWait))
	case permanent.Is(err):
		it.Row.logNoCall(now, DeliveryRefused, reason)
		it.Row.stop(now, reason)
	default:
		it.Row.logNoCall(now, DeliveryFailed, reason)
		it.Row.failed(now, reason, 0)
	}
	return false
}

// whatsApp is the method of channels that a definition's provider templates are for.
const whatsApp = "whatsapp"

// render asks the host's renderer, or else takes the texts of the definition or
// those that come with the package.
func (s asker) render(ctx context.Context, it *sending, link string) (parts form.Parts, err error) {
	data := linkData(it.Row, it.version, link, it.message)
	err = work.Guard(func() (err error) {
		if s.options.Renderer != nil {
			parts, err = s.options.Renderer.Render(ctx, data)
		} else {
			if parts, err = form.Render(it.version.Messages, data); channel.Method(it.Row.Channel) != whatsApp {
				parts.Template, parts.Locale = channel.ProviderTemplate{}, "" // others refuse it
			}
		}
		return err
	})
	calls.LogPanic(s.options.Logger, "a renderer panicked", err, slog.Int64("survey", it.Row.SurveyID))
	return parts, err
}

// messageOf is what the channel gets beside the text (Triggers & Scheduler, "What
// gets passed to the channel").
func messageOf(r *instanceRow, attempt int) channel.Message {
	return channel.Message{
		ID: messageID(r), Channel: r.Channel, To: r.RecipientAddress, Locale: r.RecipientLocale, Attempt: attempt,
		Metadata: map[string]string{
			"publicId": r.PublicID, "surveyId": strconv.FormatInt(r.SurveyID, 10),
			"surveyVersion": strconv.FormatInt(r.SurveyVersion, 10), "triggerId": r.TriggerID,
			"ordinal": strconv.Itoa(r.SendOrdinal), "customerRef": r.CustomerRef,
			"triggeredOn":       r.TriggeredOn.UTC().Format(time.RFC3339Nano),
			"candidateMetadata": string(r.Metadata),
		},
	}
}

// messageID is what providers and gates know a send by: the same for all its
// tries, another one for each reminder, so that nobody takes a reminder for a
// repeat.
func messageID(r *instanceRow) string {
	if r.SendOrdinal == 0 {
		return r.PublicID
	}
	return r.PublicID + "-" + strconv.Itoa(r.SendOrdinal)
}

// logUncomposed tells support why there is no message, beside the reason that the
// instance has.
func (s asker) logUncomposed(ctx context.Context, r *instanceRow, text string, why ...any) {
	if ctx.Err() != nil { // it was cut off, which says nothing
		return
	}
	where := []any{
		slog.Int64("survey", r.SurveyID), slog.String("scope", string(r.Scope)), slog.Int64("version", r.SurveyVersion), slog.String("instance", r.PublicID), slog.Int("ordinal", r.SendOrdinal),
	}
	s.options.Logger.ErrorContext(ctx, "belfry: "+text, append(where, why...)...)
}

func (s asker) logRender(ctx context.Context, r *instanceRow, err error) {
	if p := (*work.PanicError)(nil); errors.As(err, &p) { // told, with its stack
		return
	}
	var e *channel.Error
	var t template.ExecError
	switch {
	case s.options.Renderer == nil && errors.As(err, &t):
		s.logUncomposed(ctx, r, "a text of the definition failed", slog.String("template", templatePlace(t)))
	case errors.As(err, &e):
		s.logUncomposed(ctx, r, "a renderer failed", slog.String("type", fmt.Sprintf("%T", cmp.Or(e.Err, err))), slog.String("code", storable.Code(e.Code)))
	default:
		s.logUncomposed(ctx, r, "a renderer failed", slog.String("type", fmt.Sprintf("%T", err)))
	}
}

// templatePlace is which part of a definition's text failed, such as
// `template: text:1:2: executing "text" at <.URI>`. What the template's error says
// after it may be a value of the event.
func templatePlace(e template.ExecError) string {
	place, _, _ := strings.Cut(e.Error(), ">: ")
	return place + ">"
}
