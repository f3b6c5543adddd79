package survey

import (
	"context"
	"time"

	"github.com/belfry-go/belfry/notify/channel"
	"github.com/belfry-go/belfry/survey/form"
)

// Renderer makes the text of a send. It is called from several goroutines. A
// [Permanent] error stops the schedule; after another one the send is tried again.
type Renderer interface {
	Render(ctx context.Context, d form.LinkData) (form.Parts, error)
}

func linkData(r *instanceRow, v *version, link string, m channel.Message) form.LinkData {
	d := form.LinkData{
		URL: link, UnsubscribeURL: m.UnsubscribeURL, PublicID: r.PublicID, Survey: v.Name, IntegrationID: v.IntegrationID, SurveyID: r.SurveyID, TriggerID: r.TriggerID,
		Locale: r.RecipientLocale, TriggeredOn: inZone(r.TriggeredOn, r.RecipientZone),
		Ordinal: r.SendOrdinal, Attempt: m.Attempt, CustomerRef: r.CustomerRef, Address: m.To, Metadata: r.Metadata,
	}
	d.Title = form.Fill(v.Title.For(r.RecipientLocale), d)
	return d
}

// inZone is a moment where the recipient is; UTC if that is not known.
func inZone(t time.Time, zone string) time.Time {
	at, err := time.LoadLocation(zone)
	if err != nil { // this process has an older list of zones
		return t.UTC()
	}
	return t.In(at)
}
