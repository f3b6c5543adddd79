package report

import (
	"context"
	"fmt"
	"io"
	"slices"

	"github.com/belfry-go/belfry/automation"
	"github.com/belfry-go/belfry/keys"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/storage"
)

// RunDetail is all that is known about one run.
type RunDetail struct {
	RunState
	// Story has its history and what would happen now.
	Story automation.Explanation
}

// Run tells about one run by its key, or storage.ErrNotFound.
func (s *Service) Run(ctx context.Context, scope automation.Scope, key string) (RunDetail, error) {
	if err := reportKey(key); err != nil {
		return RunDetail{}, err
	}
	if scope == storage.AnyScope {
		return RunDetail{}, errAnyScope
	}
	story, err := s.scheduler.Explain(ctx, scope, key)
	if err != nil {
		return RunDetail{}, fmt.Errorf("report: Run: %w", err)
	}
	if story.Schedule == nil {
		return RunDetail{}, fmt.Errorf("report: run %.200q: %w", key, storage.ErrNotFound)
	}
	return RunDetail{stateOf(story.Schedule), story}, nil
}

// Ownership tells which side delivers a run, or storage.ErrNotFound where the guard
// knows no such run: those of a type that is not Guarded are not in it.
func (s *Service) Ownership(ctx context.Context, scope automation.Scope, key string) (automation.Ownership, error) {
	if err := reportKey(key); err != nil {
		return automation.Ownership{}, err
	}
	owned, err := s.scheduler.Ownership(ctx, scope, key)
	if err != nil {
		return automation.Ownership{}, fmt.Errorf("report: Ownership: %w", err)
	}
	return owned, nil
}

// reportKey refuses keys that are no report's: the rest of automation has methods
// of its own, and maybe other rights.
func reportKey(key string) error {
	parsed, _ := keys.Parse(key)
	switch parsed.(type) {
	case keys.ReportRun, keys.ManualReportRun:
		return nil
	}
	return fmt.Errorf("report: %.200q is no key of a run: %w", key, storage.ErrNotFound)
}

// Sent is one message of a run, without its address and its text.
type Sent struct {
	notify.Coordinates
	MessageID    string
	RecipientRef string
	Channel      string
	Status       string // of notify.OutgoingMessage
	Reason       string
}

// Messages lists the outgoing messages of a run in the order of their keys, and
// says where the next page begins; empty after the last. While the run is not
// Completed, or nothing was rendered yet, there are none.
func (s *Service) Messages(ctx context.Context, scope automation.Scope, key string, p Page) ([]Sent, string, error) {
	detail, err := s.Run(ctx, scope, key)
	if err != nil {
		return nil, "", err
	}
	in := detail.Delivery.Notification.RowKey
	if in == "" {
		in = detail.Delivery.MessagingJob
	}
	if in == "" {
		return nil, "", nil
	}
	rows, err := s.out.Messages(ctx, scope, in, notify.Page{After: p.After, Limit: p.limit()})
	if err != nil {
		return nil, "", fmt.Errorf("report: Messages: %w", err)
	}
	out, next := make([]Sent, len(rows)), ""
	for i, m := range rows {
		out[i] = Sent{m.Coordinates(), m.MessageID, m.RecipientRef, m.Type, m.Status, m.ReasonCode}
	}
	if len(rows) == p.limit() {
		next = rows[len(rows)-1].Key
	}
	return out, next, nil
}

// OpenFile opens a file of a run by its name, for the reader of a link whom the
// host has let in; the caller closes it. One that is not there, or has outlived
// Options.Keep, is storage.ErrNotFound. Not inside a transaction.
func (s *Service) OpenFile(ctx context.Context, scope automation.Scope, key, name string) (io.ReadCloser, notify.AttachmentRef, error) {
	detail, err := s.Run(ctx, scope, key)
	if err != nil {
		return nil, notify.AttachmentRef{}, err
	}
	i := slices.IndexFunc(detail.Delivery.Files, func(f notify.AttachmentRef) bool { return f.Name == name })
	if i < 0 || detail.Status != automation.StatusCompleted {
		return nil, notify.AttachmentRef{}, fmt.Errorf("report: file %.200q: %w", name, storage.ErrNotFound)
	}
	f := detail.Delivery.Files[i]
	in, err := s.store.Blobs().Open(ctx, f.Blob, 0)
	if err != nil {
		return nil, notify.AttachmentRef{}, fmt.Errorf("report: file %.200q: %w", name, err)
	}
	return in, f, nil
}
