package survey

import (
	"context"
	"time"

	"github.com/belfry-go/belfry/notify/channel"
	"github.com/belfry-go/belfry/survey/form"
)

// Renderer makes the text of a send, once for all its tries. It is called from several
// goroutines, twice for each text, with URLs that are not the link's own yet: the token of the
// link comes into the text with the call of the channel, so that it is stored nowhere. So it
// places [form.LinkData].URL in the text as it is; a picture or a short form of it is refused.
// A [Permanent] error stops the schedule; after another one the send is tried again.
type Renderer interface {
	Render(ctx context.Context, d form.LinkData) (form.Parts, error)
}

func linkData(r *instanceRow, v *version, link, leave string) form.LinkData {
	d := form.LinkData{
		URL: link, UnsubscribeURL: leave, PublicID: r.PublicID, Survey: v.Name, IntegrationID: v.IntegrationID, SurveyID: r.SurveyID, TriggerID: r.TriggerID,
		Locale: r.RecipientLocale, TriggeredOn: inZone(r.TriggeredOn, r.RecipientZone),
		Ordinal: r.SendOrdinal, Attempt: r.Calls + 1, CustomerRef: r.CustomerRef, Address: addressOf(r), Metadata: r.Metadata,
	}
	d.Title = form.Fill(v.Title.For(r.RecipientLocale), d)
	return d
}

// addressOf is that of the recipient, as the channel gets it.
func addressOf(r *instanceRow) string {
	if to, err := channel.NormaliseAddress(channel.Method(r.Channel), r.RecipientAddress); err == nil {
		return to
	}
	return r.RecipientAddress
}

// inZone is a moment where the recipient is; UTC if that is not known.
func inZone(t time.Time, zone string) time.Time {
	at, err := time.LoadLocation(zone)
	if err != nil { // this process has an older list of zones
		return t.UTC()
	}
	return t.In(at)
}
