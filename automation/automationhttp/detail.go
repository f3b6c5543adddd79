package automationhttp

import (
	"encoding/base64"
	"encoding/json"
	"net/http"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/belfry-go/belfry/automation"
	"github.com/belfry-go/belfry/automation/cutover"
	"github.com/belfry-go/belfry/automation/report"
	"github.com/belfry-go/belfry/internal/httpapi"
)

// detail is a run with its history. Explanation describes it for people.
type detail struct {
	Run         run          `json:"run"`
	History     []transition `json:"history"`
	Now         string       `json:"now"`
	Explanation string       `json:"explanation"`
}

// transition is one change of a run.
type transition struct {
	On     time.Time `json:"on"`
	Action string    `json:"action"`
	Actor  string    `json:"actor,omitempty"`
	Reason string    `json:"reason,omitempty"`
	From   string    `json:"from,omitempty"`
	To     string    `json:"to,omitempty"`
}

func historyOf(all []automation.Transition) []transition {
	out := make([]transition, len(all))
	for i, t := range all {
		out[i] = transition{On: t.On.UTC(), Action: string(t.Action), Actor: t.Actor, Reason: t.Reason, From: t.From, To: t.To}
	}
	return out
}

func (a *api) detail(w http.ResponseWriter, r *http.Request, c Caller) {
	key, ok := a.key(w, r)
	if !ok {
		return
	}
	found, err := a.s.Run(r.Context(), c.Scope, key)
	if err != nil {
		a.refuse(w, r, "a run of a report could not be read", err, problem{})
		return
	}
	httpapi.Reply(w, http.StatusOK, detail{
		Run: runOf(found.RunState), History: historyOf(found.Story.History), Now: found.Story.Now, Explanation: found.Story.String(),
	})
}

// key reads the key of the run from the address. If it returns false it has written the
// answer.
func (a *api) key(w http.ResponseWriter, r *http.Request) (string, bool) {
	key, ok := keyOf(r.PathValue("guid"), r.PathValue("run"))
	if !ok {
		httpapi.Fail(w, http.StatusNotFound, "this subscription or run does not exist")
	}
	return key, ok
}

// ownership says which side delivers a run (Report Subscription, "One-Owner
// Guard").
type ownership struct {
	Key         string          `json:"schedulerKey"`
	Owner       string          `json:"owner"`
	Version     int64           `json:"ownerVersion"`
	Status      string          `json:"status"`
	Coordinates json.RawMessage `json:"coordinates,omitempty"`
	ScheduledOn time.Time       `json:"scheduledOn,omitzero"`
	OldRanOn    time.Time       `json:"oldRanOn,omitzero"`
	EndedOn     time.Time       `json:"endedOn,omitzero"`
	Stage       *int            `json:"stage,omitempty"`
}

func ownershipOf(o cutover.Ownership) ownership {
	out := ownership{
		Key: o.Key, Owner: string(o.Owner), Version: o.Version, Status: o.Status, Coordinates: o.Coordinates,
		ScheduledOn: o.ScheduledOn.UTC(), OldRanOn: o.OldRanOn.UTC(), EndedOn: o.EndedOn.UTC(),
	}
	if stage := int(o.Stage); !o.EndedOn.IsZero() {
		out.Stage = &stage
	}
	return out
}

func (a *api) ownership(w http.ResponseWriter, r *http.Request, c Caller) {
	key, ok := a.key(w, r)
	if !ok {
		return
	}
	found, err := a.s.Ownership(r.Context(), c.Scope, key)
	if err != nil {
		a.refuse(w, r, "the owner of a run could not be read", err, problem{})
		return
	}
	httpapi.Reply(w, http.StatusOK, ownershipOf(found))
}

// delivery names the jobs, messages and blobs of a run. The row key of the jobs is the
// StorageRunKeyHash of the run.
type delivery struct {
	Key             string      `json:"schedulerKey"`
	Path            string      `json:"path,omitempty"`
	AutomationJob   coordinates `json:"automationJob,omitzero"`
	NotificationJob coordinates `json:"notificationJob,omitzero"`
	Scheduler       string      `json:"notificationScheduler,omitempty"`
	MessagingJob    string      `json:"messagingJobGuid,omitempty"`
	Files           []file      `json:"files"`
	SkippedReason   string      `json:"skippedReasonCode,omitempty"`
	ConflictReason  string      `json:"conflictReasonCode,omitempty"`
	Summary         string      `json:"summary,omitempty"`
	Messages        []message   `json:"messages"`
	Next            string      `json:"next,omitempty"`
}

type coordinates struct {
	PartitionKey string `json:"partitionKey"`
	RowKey       string `json:"rowKey"`
}

type file struct {
	Name      string `json:"name"`
	MediaType string `json:"mediaType"`
	ContentID string `json:"contentId,omitempty"`
	Size      int64  `json:"size"`
	SHA256    string `json:"sha256"`
	Blob      string `json:"blob"`
}

// message is one of the messages, without its address and its text.
type message struct {
	Coordinates  coordinates `json:"coordinates"`
	MessageID    string      `json:"messageId"`
	RecipientRef string      `json:"recipientRef,omitempty"`
	Channel      string      `json:"channel"`
	Status       string      `json:"status"`
	Reason       string      `json:"reasonCode,omitempty"`
}

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
		httpapi.Fail(w, http.StatusBadRequest, `"after" must be the "next" of a page`)
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
	httpapi.Reply(w, http.StatusOK, deliveryOf(found.RunState, sent, next))
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

// cursor is the key of a message, which contains a control character, written for a URL.
func cursor(key string) string { return base64.RawURLEncoding.EncodeToString([]byte(key)) }

func cursorText(text string) (key string, ok bool) {
	decoded, err := base64.RawURLEncoding.DecodeString(text)
	key = string(decoded)
	return key, err == nil && utf8.ValidString(key) && !strings.Contains(key, "\x00")
}
