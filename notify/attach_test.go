package notify_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/belfry-go/belfry/internal/storetest"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/notify/channel"
	"github.com/belfry-go/belfry/reasons"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/memory"
)

func (h *host) attach(name, contentID, data string) notify.AttachmentRef {
	h.t.Helper()
	a, err := notify.Attach(h.t.Context(), h.store.Blobs(), name, "application/pdf", contentID, strings.NewReader(data))
	if err != nil {
		h.t.Fatal(err)
	}
	return a
}

// opens reports whether the blob is still there.
func (h *host) opens(a notify.AttachmentRef) bool {
	h.t.Helper()
	r, err := h.store.Blobs().Open(h.t.Context(), a.Blob, 0)
	if errors.Is(err, storage.ErrNotFound) {
		return false
	}
	if err != nil {
		h.t.Fatal(err)
	}
	text, err := io.ReadAll(r)
	if err := errors.Join(err, r.Close()); err != nil {
		h.t.Fatal(err)
	}
	return len(text) > 0
}

// collectLater lets the time pass after which blobs that nobody kept are removed.
func (h *host) collectLater() {
	h.t.Helper()
	h.clk.Add(48 * time.Hour)
	if _, err := h.store.Blobs().Collect(h.t.Context(), 100); err != nil {
		h.t.Fatal(err)
	}
}

// withFiles registers the type "note", whose content names these.
func (h *host) withFiles(files ...notify.AttachmentRef) notify.Job {
	h.Register(notify.Type{Name: "note", Renderer: notify.RendererFunc(func(context.Context, notify.Job, notify.Recipient) (notify.Content, error) {
		return notify.Content{Subject: "Your files", Text: "enclosed", Attachments: files}, nil
	})})
	job := visit("7", person("sam"), person("kim"))
	job.Type = "note"
	return job
}

func TestAMessageGoesOutWithItsAttachments(t *testing.T) {
	visits(t, func(t *testing.T, h *host) {
		h.dispatch(h.withFiles(h.attach("certificate.pdf", "", "%PDF"), h.attach("logo.png", "logo", "png")))
		h.drain()
		want := []channel.Attachment{{Name: "certificate.pdf", MediaType: "application/pdf", Data: []byte("%PDF")}, {Name: "logo.png", MediaType: "application/pdf", ContentID: "logo", Data: []byte("png")}}
		for _, m := range h.sent() {
			h.same("attachments", want, m.Attachments)
		}
		if len(h.sent()) != 2 {
			t.Errorf("%d messages", len(h.sent()))
		}
	})
}

func TestABlobIsKeptWhileAMessageNamesIt(t *testing.T) {
	visits(t, func(t *testing.T, h *host) {
		named, unnamed, inApp := h.attach("named.pdf", "", "a"), h.attach("unnamed.pdf", "", "b"), h.attach("inapp.pdf", "", "c")
		h.dispatch(h.withFiles(named))
		h.run("notify.scheduler")
		h.run("notify.generator")
		if _, err := h.EnsureUserMessage(t.Context(), nil, notify.UserMessage{
			Scope: "tenant", Type: "note", PartitionKey: "user:sam", JobRowKey: "job", JobPartitionKey: "car",
			Content: notify.Content{Text: "enclosed", Attachments: []notify.AttachmentRef{inApp}}, SourceOn: storetest.Start,
		}); err != nil {
			t.Fatal(err)
		}
		h.collectLater()
		h.same("named, unnamed, in-app", []bool{true, false, true}, []bool{h.opens(named), h.opens(unnamed), h.opens(inApp)})
		h.drain()
		if len(h.sent()) != 2 {
			t.Errorf("%d messages went out a day later", len(h.sent()))
		}
		h.collectLater()
		if !h.opens(named) {
			t.Error("a message that was sent lost its file")
		}
	})
}

// The call had not started, so it is known that nothing was sent.
func TestI12_AMissingBlobIsRetriedAndNeverInDoubt(t *testing.T) {
	visits(t, func(t *testing.T, h *host) {
		file := h.attach("certificate.pdf", "", "%PDF")
		job := h.withFiles(file)
		job.Recipients = job.Recipients[:1]
		h.dispatch(job)
		h.run("notify.scheduler")
		h.run("notify.generator")
		if err := h.store.Blobs().Delete(t.Context(), file.Blob); err != nil {
			t.Fatal(err)
		}
		h.run("notify.distributor")
		m := h.status(notify.StatusRetryReady)
		h.same("reason, calls, call started, tries", []any{reasons.AttachmentMissing, 0, time.Time{}, 1}, []any{m.ReasonCode, m.Calls, m.CallStartedOn, m.RetryCount})
		for range 5 {
			h.clk.Add(2 * time.Hour)
			h.drain()
		}
		m = h.status(notify.StatusRetryReady)
		h.same("hold", []any{reasons.RetriesExhausted, reasons.AttachmentMissing, 0, 0}, []any{m.HoldReason, m.ReasonCode, m.Calls, m.Doubts})
		if len(h.sent()) != 0 {
			t.Error("a message went out without its file")
		}
	})
}

// A blob that is not there stops its own job, and no other of the batch.
func TestAContentThatNamesNoBlobStopsItsJobOnly(t *testing.T) {
	visits(t, func(t *testing.T, h *host) {
		gone := h.attach("gone.pdf", "", "a")
		if err := h.store.Blobs().Delete(t.Context(), gone.Blob); err != nil {
			t.Fatal(err)
		}
		h.dispatch(h.withFiles(gone), visit("8", person("alex")))
		h.drain()
		if all := h.sent(); len(all) != 1 || all[0].Name != "alex" {
			t.Errorf("%d messages went out", len(all))
		}
		for _, j := range all(h, notify.Jobs) {
			if j.Kind == "note" && (j.Status != notify.StatusReady || j.RetryCount != 1) {
				t.Errorf("job is %s after %d failures", j.Status, j.RetryCount)
			}
		}
	})
}

func TestAReferenceOfAnotherSizeIsRefused(t *testing.T) {
	visitsInMemory(t, func(h *host) {
		file := h.attach("certificate.pdf", "", "%PDF-1.7")
		file.Blob.Size = 1 // to get around the limit
		h.dispatch(h.withFiles(file))
		h.drain()
		for _, m := range all(h, notify.Messages) {
			if m.ReasonCode != reasons.AttachmentMissing || m.Calls != 0 {
				h.t.Errorf("message is %s (%s)", m.Status, m.ReasonCode)
			}
		}
	})
}

func TestAttachReadsNothingThatItRefuses(t *testing.T) {
	t.Parallel()
	blobs := memory.New(nil).Blobs()
	broken := errors.New("broken")
	for name, c := range map[string]struct {
		file, kind string
		r          io.Reader
		want       error
	}{
		"name":      {"a/b", "text/csv", iotest.ErrReader(broken), channel.ErrContent},
		"type":      {"a.csv", "csv", iotest.ErrReader(broken), channel.ErrContent},
		"reader":    {"a.csv", "text/csv", iotest.ErrReader(broken), broken},
		"too large": {"a.csv", "text/csv", io.LimitReader(zeros{}, notify.MaxAttachments+1), channel.ErrContent},
	} {
		if a, err := notify.Attach(t.Context(), blobs, c.file, c.kind, "", c.r); !errors.Is(err, c.want) || a != (notify.AttachmentRef{}) {
			t.Errorf("%s: %v, %v", name, a, err)
		}
	}
	a, err := notify.Attach(t.Context(), blobs, "a.csv", "text/csv", "", iotest.OneByteReader(bytes.NewReader([]byte("a,b"))))
	if err != nil || a.Blob.Size != 3 {
		t.Error(a, err)
	}
	a, err = notify.Attach(t.Context(), blobs, "a.bin", "application/octet-stream", "", io.LimitReader(zeros{}, notify.MaxAttachments))
	if err != nil || a.Blob.Size != notify.MaxAttachments {
		t.Error(a, err)
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

func TestAPreviewShowsAttachmentsAndKeepsNone(t *testing.T) {
	visitsInMemory(t, func(h *host) {
		file := h.attach("certificate.pdf", "", "%PDF")
		job := h.withFiles(file)
		got, err := h.Preview(h.t.Context(), job, job.Recipients[0])
		if err != nil {
			h.t.Fatal(err)
		}
		h.same("attachments", []notify.AttachmentRef{file}, got.Attachments)
		h.collectLater()
		if h.opens(file) {
			h.t.Error("a preview keeps its files for ever")
		}
	})
}
