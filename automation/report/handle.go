package report

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/belfry-go/belfry/automation"
	"github.com/belfry-go/belfry/internal/civil"
	"github.com/belfry-go/belfry/internal/work"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/notify/channel"
	"github.com/belfry-go/belfry/notify/gate"
	"github.com/belfry-go/belfry/reasons"
	"github.com/belfry-go/belfry/storage"
)

// handle decides about due runs; the pass gives it one at a time.
func (s *Service) handle(ctx context.Context, due []automation.Due) ([]automation.Outcome, error) {
	out := make([]automation.Outcome, len(due))
	for i, d := range due {
		err := work.Guard(func() (err error) {
			out[i], err = s.run(ctx, d)
			return err
		})
		if err != nil {
			out[i] = automation.Outcome{Err: err}
		}
	}
	return out, nil
}

// run builds a report and says what delivers it. It writes nothing but blobs,
// which are removed unless the transaction that settles the run keeps them.
func (s *Service) run(ctx context.Context, d automation.Due) (automation.Outcome, error) {
	run, stop, err := s.load(ctx, d)
	if err != nil || stop != "" {
		return automation.Outcome{Deactivate: stop}, err
	}
	t, ok := s.types.get(d.Type)
	if !ok {
		return automation.Outcome{}, fmt.Errorf("report: type %q is not registered here", d.Type)
	}
	to, err := t.resolve(ctx, run)
	if err != nil {
		return automation.Outcome{}, err
	}
	if len(to) == 0 {
		return automation.Outcome{Deactivate: reasons.NoRecipients}, nil
	}
	made, err := t.Builder.Build(ctx, run)
	if err != nil {
		return automation.Outcome{}, err
	}
	if made.Empty && !run.Subscription.Delivery.SendEmpty {
		return automation.Outcome{Deactivate: reasons.ReportEmpty, Result: notify.DispatchResult{Summary: cut(made.Summary)}}, nil
	}
	return s.deliver(ctx, t, delivery{due: d, run: run, made: made, to: to})
}

// load reads the subscription as it is now, and says why the run is not wanted.
func (s *Service) load(ctx context.Context, d automation.Due) (run Run, stop automation.Reason, err error) {
	sub, err := s.Subscription(ctx, d.Scope, d.Source.ID)
	switch {
	case errors.Is(err, storage.ErrNotFound):
		return Run{}, reasons.SourceNoLongerValid, nil
	case err != nil:
		return Run{}, "", err
	case sub.Status != StatusActive && (sub.Status != StatusPaused || d.Run == ""):
		return Run{}, reasons.SubscriptionInactive, nil
	}
	run = Run{
		Key: d.Key, Subscription: sub, Manual: d.Run, ScheduledOn: d.ScheduledOn, LocalDate: d.LocalDate, Zone: d.Zone, Attempt: d.Attempt,
	}
	if d.Occurrence != nil {
		run.LocalTime = d.Occurrence.LocalTime
		return run, "", nil
	}
	zone, err := civil.LoadZone(d.Zone)
	if err == nil {
		run.LocalTime = d.ScheduledOn.In(zone).Format("15:04:05")
	}
	return run, "", err
}

func (t Type) resolve(ctx context.Context, run Run) ([]notify.Recipient, error) {
	if t.Recipients == nil {
		return run.Subscription.Recipients, nil
	}
	return t.Recipients(ctx, run)
}

// cut leaves a summary at the length that a small row has room for.
func cut(text string) string {
	const most = 200
	if len(text) > most {
		text = text[:most]
	}
	return text
}

// revalidate says whether a message is still wanted: not if
// its subscription was deleted or deactivated. One that is paused delivers what it
// has built.
func (s *Service) revalidate(ctx context.Context, j notify.Job) (gate.Verdict, error) {
	var data eventData
	if err := json.Unmarshal(j.EventData, &data); err != nil {
		return gate.Verdict{}, fmt.Errorf("report: EventData: %w", err)
	}
	sub, err := s.Subscription(ctx, j.Scope, data.Report.Subscription)
	switch {
	case errors.Is(err, storage.ErrNotFound):
		return gate.Skip(string(reasons.SourceNoLongerValid)), nil
	case err != nil:
		return gate.Verdict{}, err
	case sub.Status == StatusDeactivated:
		return gate.Skip(string(reasons.SubscriptionInactive)), nil
	}
	return gate.Proceed(), nil
}

// maxParts bounds the files of a report, since a small row names them.
const maxParts = 8

// file is a stored part.
type file struct {
	notify.AttachmentRef
	body bool
}

// write streams the parts into blobs. What an earlier part has stored when a later
// one fails is collected in its time, as it has no owner.
func (t Type) write(ctx context.Context, blobs storage.Blobs, parts []Part) ([]file, error) {
	if len(parts) > maxParts {
		return nil, automation.Permanent(fmt.Errorf("%w: %d parts, more than %d", channel.ErrContent, len(parts), maxParts))
	}
	left := t.MaxBytes
	var out []file
	for i, p := range parts {
		ref, err := p.store(ctx, blobs, left)
		if errors.Is(err, channel.ErrContent) {
			err = automation.Permanent(err) // the next try would make just this
		}
		if err != nil {
			return nil, fmt.Errorf("report: part %d: %w", i+1, err)
		}
		left -= ref.Blob.Size
		out = append(out, file{ref, p.Body})
	}
	return out, nil
}

// store runs Write beside the blob that takes what it gives; whichever fails first
// ends the other.
func (p Part) store(ctx context.Context, blobs storage.Blobs, limit int64) (ref notify.AttachmentRef, err error) {
	if p.Write == nil {
		return ref, fmt.Errorf("%w: it has no Write", channel.ErrContent)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	p.Write = unbroken(p.Write)
	r, w := io.Pipe()
	written := make(chan struct{})
	go func() {
		defer close(written)
		_ = w.CloseWithError(work.Guard(func() error { return p.Write(ctx, w) })) // never fails
	}()
	ref, err = notify.PutFile(ctx, blobs, notify.AttachmentRef{Name: p.Name, MediaType: p.MediaType, ContentID: p.ContentID}, r, limit)
	if err != nil {
		_ = r.CloseWithError(err) // never fails
		cancel()
	}
	<-written
	return ref, err
}

// unbroken makes a failure of the io.EOF that write may return, of something that it
// reads and that broke off: a pipe would take it for the end of a whole part.
func unbroken(write func(context.Context, io.Writer) error) func(context.Context, io.Writer) error {
	return func(ctx context.Context, w io.Writer) error {
		err := write(ctx, w)
		if errors.Is(err, io.EOF) {
			return io.ErrUnexpectedEOF
		}
		return err
	}
}
