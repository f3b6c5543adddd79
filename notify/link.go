package notify

import (
	"context"
	"html"
	"strings"
)

// linkStandIn stands in a rendered text for the link by which its recipient unsubscribes,
// since the link names the message, which is made behind it. No escaping changes it.
const linkStandIn = "https://link.belfry.invalid/unsubscribe"

// linkKey is the key of the stand-in in a renderer's context.
type linkKey struct{}

// linking has templates write the stand-in, if the message is to have a link.
func (n *core) linking(ctx context.Context, j Job, r Recipient) context.Context {
	t := n.registry.lookup(j.Type)
	if n.options.Unsubscribe == nil || r.Channel == "" || t.Mandatory || !n.canLeave(t.Group) {
		return ctx
	}
	return context.WithValue(ctx, linkKey{}, linkStandIn)
}

// linkIn is what templates write for the link; empty: there is none.
func linkIn(ctx context.Context) string {
	link, _ := ctx.Value(linkKey{}).(string)
	return link
}

// linked gives texts with the link in the place of its stand-in.
func linked(text, page, link string) (string, string) {
	return strings.ReplaceAll(text, linkStandIn, link), strings.ReplaceAll(page, linkStandIn, html.EscapeString(link))
}
