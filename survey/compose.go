package survey

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"text/template"
	"time"

	"github.com/belfry-go/belfry/internal/calls"
	"github.com/belfry-go/belfry/internal/permanent"
	"github.com/belfry-go/belfry/internal/storable"
	"github.com/belfry-go/belfry/internal/work"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/notify/channel"
	"github.com/belfry-go/belfry/reasons"
	"github.com/belfry-go/belfry/storage/driver"
	"github.com/belfry-go/belfry/survey/form"
)

// compose makes the messages at once: the address, and the text with a stand-in for the link.
func (s sender) compose(ctx context.Context, items []*sending) {
	if len(items) == 0 {
		return
	}
	if err := s.out.Ready(ctx); err != nil { // counts as no try
		for _, it := range items {
			it.Row.NextTryOn, it.Row.ReasonCode = driver.Time(driver.Now(s.store).Add(time.Minute)), reasons.WrongHashKey
		}
		return
	}
	each(items, func(it *sending) { s.composeOne(it.Ctx, it) })
}

func (s sender) composeOne(ctx context.Context, it *sending) {
	r := it.Row
	if it.trigger == nil {
		s.untried(it, reasons.VersionUnreadable, nil)
		return
	}
	m := s.messageOf(it)
	to, err := channel.NormaliseAddress(m.Method, r.RecipientAddress)
	if err != nil {
		s.untried(it, reasons.BadAddress, channel.Permanent(reasons.BadAddress, nil))
		return
	}
	m.Address = to
	link, leave := s.linkWith(r, standIn(r.PublicID))
	parts, err := s.rendered(ctx, it, link, leave)
	if err != nil {
		s.logRender(ctx, r, err)
		s.untried(it, reasons.RenderFailed, err)
		return
	}
	m.Content = notify.Content{
		Subject: parts.Subject, Text: parts.Text, HTML: parts.HTML, Template: parts.Template, Locale: cmp.Or(parts.Locale, r.RecipientLocale),
		Metadata: map[string]string{"surveyUrl": link}, UnsubscribeURL: leave,
	}
	if !parts.Sendable() {
		s.untried(it, reasons.ContentRefused, channel.Permanent(reasons.ContentRefused, nil))
		return
	}
	r.settleCall()
	r.Queued, r.Making, r.ReasonCode = true, true, ""
	r.Attempts++
	_, m.RowKey, _ = strings.Cut(r.messageKey(), "\x1f")
	it.message = m
}

// messageOf is the message of the present send, but for what it says.
func (s *core) messageOf(it *sending) *notify.OutgoingMessage {
	r := it.Row
	m := &notify.OutgoingMessage{
		Scope: r.Scope, Channel: r.Channel, Lane: r.Lane, PartitionKey: r.PublicID, Owner: NotificationType,
		NotificationType: NotificationType, BusinessUnit: r.BusinessUnit, Method: channel.Method(r.Channel),
		RecipientRef: r.CustomerRef, Zone: r.RecipientZone, Group: s.options.Group, InDoubt: s.policy(r),
		ValidUntil: r.endsOn(it.grace), CallsBefore: r.Calls, InputHash: r.UniqueHash,
	}
	if r.SendOrdinal > 0 {
		m.Reminds = r.FirstMessage
	}
	return m
}

// untried settles a send without a message: a permanent error stops the schedule, another
// one is tried again.
func (s sender) untried(it *sending, reason string, err error) {
	now := driver.Now(s.store)
	switch {
	case it.Ctx.Err() != nil: // as if it had not been claimed
	case permanent.Is(err):
		it.Row.logNoCall(now, DeliveryRefused, reason)
		it.Row.stop(now, reason)
	default:
		it.Row.logNoCall(now, DeliveryFailed, reason)
		it.Row.failed(now, reason)
	}
}

// whatsApp is the method of channels that a definition's provider templates are for.
const whatsApp = "whatsapp"

// rendered makes the text of a send for a link with a stand-in. A renderer of the host's
// that makes something else of the link, such as a picture of it, would send the stand-in:
// it is asked with another one too, and both have to say the same but for that.
func (s sender) rendered(ctx context.Context, it *sending, link, leave string) (form.Parts, error) {
	parts, err := s.render(ctx, it, link, leave)
	if err != nil || s.options.Renderer == nil {
		return parts, err
	}
	mine, other := standIn(it.Row.PublicID), standIn(it.Row.PublicID+"\x1f")
	with := func(text string) string { return strings.ReplaceAll(text, mine, other) }
	again, err := s.render(ctx, it, with(link), with(leave))
	if err != nil {
		return parts, err
	}
	parts.Template.Params = slices.Clone(parts.Template.Params)
	want := parts
	want.Subject, want.Text, want.HTML, want.Template.Params = with(parts.Subject), with(parts.Text), with(parts.HTML), slices.Clone(parts.Template.Params)
	for i, p := range want.Template.Params {
		want.Template.Params[i] = with(p)
	}
	if !reflect.DeepEqual(want, again) {
		return parts, permanent.Mark(errDerived)
	}
	return parts, nil
}

// errDerived is a renderer whose text has the link in another form than the one that it was
// given, or differs each time.
var errDerived = errors.New("survey: the Renderer does not use the URL as it is, or says something else each time: place it in the text as it is")

// render asks the host's renderer, or else takes the texts of the definition or
// those that come with the package.
func (s sender) render(ctx context.Context, it *sending, link, leave string) (parts form.Parts, err error) {
	data := linkData(it.Row, it.version, link, leave)
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

// metadataOf is what the channel gets beside the text (Triggers & Scheduler, "What
// gets passed to the channel").
func metadataOf(r *instanceRow) map[string]string {
	return map[string]string{
		"publicId": r.PublicID, "surveyId": strconv.FormatInt(r.SurveyID, 10),
		"surveyVersion": strconv.FormatInt(r.SurveyVersion, 10), "triggerId": r.TriggerID,
		"ordinal": strconv.Itoa(r.SendOrdinal), "customerRef": r.CustomerRef,
		"triggeredOn":       r.TriggeredOn.UTC().Format(time.RFC3339Nano),
		"candidateMetadata": string(r.Metadata),
	}
}

// logUncomposed tells support why there is no message, beside the reason that the
// instance has.
func (s *core) logUncomposed(ctx context.Context, r *instanceRow, text string, why ...any) {
	if ctx.Err() != nil { // it was cut off, which says nothing
		return
	}
	where := []any{
		slog.Int64("survey", r.SurveyID), slog.String("scope", string(r.Scope)), slog.Int64("version", r.SurveyVersion), slog.String("instance", r.PublicID), slog.Int("ordinal", r.SendOrdinal),
	}
	s.options.Logger.ErrorContext(ctx, "belfry: "+text, append(where, why...)...)
}

func (s sender) logRender(ctx context.Context, r *instanceRow, err error) {
	if p := (*work.PanicError)(nil); errors.As(err, &p) { // told, with its stack
		return
	}
	var e *channel.Error
	var t template.ExecError
	switch {
	case errors.Is(err, errDerived):
		s.logUncomposed(ctx, r, "a renderer failed", slog.Any("error", errDerived))
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
