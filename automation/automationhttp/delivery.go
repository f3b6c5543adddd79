package automationhttp

import (
	"encoding/base64"
	"net/http"
	"strings"
	"unicode/utf8"

	"github.com/belfry-go/belfry/automation/report"
)

func (a *api) delivery(w http.ResponseWriter, r *http.Request, c Caller) {
	key, ok := a.key(w, r)
	if !ok {
		return
	}
	p, ok := page(w, r)
	if !ok {
		return
	}
	if p.After, ok = cursorText(p.After); !ok {
		problem{Status: http.StatusBadRequest, Title: `"after" is not the "next" of a page`}.write(w)
		return
	}
	const failed = "the delivery of a run could not be read"
	found, err := a.s.Run(r.Context(), c.Scope, key)
	if err != nil {
		a.refuse(w, r, failed, err, problem{})
		return
	}
	sent, next, err := a.s.Messages(r.Context(), c.Scope, key, p)
	if err != nil {
		a.refuse(w, r, failed, err, problem{})
		return
	}
	reply(w, http.StatusOK, deliveryOf(found.RunState, sent, next))
}

func deliveryOf(s report.RunState, sent []report.Sent, next string) delivery {
	d := s.Delivery
	out := delivery{
		Key: s.Key, Path: string(d.Path), AutomationJob: coordinates(d.AutomationJob), NotificationJob: coordinates(d.Notification),
		Scheduler: d.Scheduler, MessagingJob: d.MessagingJob, Files: make([]file, len(d.Files)),
		SkippedReason: d.SkippedReason, ConflictReason: d.ConflictReason, Summary: d.Summary,
		Messages: make([]message, len(sent)), Next: cursor(next),
	}
	for i, f := range d.Files {
		out.Files[i] = file{Name: f.Name, MediaType: f.MediaType, ContentID: f.ContentID, Size: f.Blob.Size, SHA256: f.Blob.SHA256, Blob: f.Blob.Name}
	}
	for i, m := range sent {
		out.Messages[i] = message{
			Coordinates: coordinates(m.Coordinates), MessageID: m.MessageID, RecipientRef: m.RecipientRef,
			Channel: m.Channel, Status: m.Status, Reason: m.Reason,
		}
	}
	return out
}

// cursor is the key of a message, which holds a control character, as an address
// can have it.
func cursor(key string) string { return base64.RawURLEncoding.EncodeToString([]byte(key)) }

func cursorText(text string) (key string, ok bool) {
	decoded, err := base64.RawURLEncoding.DecodeString(text)
	key = string(decoded)
	return key, err == nil && utf8.ValidString(key) && !strings.Contains(key, "\x00")
}
