package survey

import (
	"context"

	"github.com/belfry-go/belfry/survey/form"
)

// Renderer makes the text of a send. It is called from several goroutines. A
// [Permanent] error stops the schedule; after another one the send is tried again.
type Renderer interface {
	Render(ctx context.Context, d form.LinkData) (form.Parts, error)
}

func linkData(r *instanceRow, v *version, link string, attempt int) form.LinkData {
	return form.LinkData{
		URL: link, PublicID: r.PublicID, Survey: v.Name, Title: v.Title.For(r.RecipientLocale), SurveyID: r.SurveyID, Locale: r.RecipientLocale,
		Ordinal: r.SendOrdinal, Attempt: attempt, CustomerRef: r.CustomerRef, Metadata: r.Metadata,
	}
}
