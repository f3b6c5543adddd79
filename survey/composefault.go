package survey

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"text/template"

	"github.com/belfry-go/belfry/internal/storable"
	"github.com/belfry-go/belfry/internal/work"
	"github.com/belfry-go/belfry/notify"
)

// logUncomposed tells support why there is no message, beside the reason that the
// instance has.
func (s *Service) logUncomposed(ctx context.Context, r *Instance, text string, why ...slog.Attr) {
	if ctx.Err() != nil { // it was cut off, which says nothing
		return
	}
	where := []slog.Attr{
		slog.String("scope", string(r.Scope)), slog.Int64("survey", r.SurveyID), slog.Int64("version", r.SurveyVersion), slog.String("instance", r.PublicID), slog.Int("ordinal", r.SendOrdinal),
	}
	s.options.Logger.LogAttrs(ctx, slog.LevelError, "belfry: "+text, append(where, why...)...)
}

func (s *Service) logRender(ctx context.Context, r *Instance, err error) {
	if p := (*work.PanicError)(nil); errors.As(err, &p) { // told, with its stack
		return
	}
	var e *notify.SendError
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
