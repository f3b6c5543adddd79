package notify

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
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/memory"
)

func (h *host) attach(name, contentID, data string) AttachmentRef {
	h.t.Helper()
	a, err := Attach(h.t.Context(), h.store.Blobs(), name, "application/pdf", contentID, strings.NewReader(data))
	if err != nil {
		h.t.Fatal(err)
	}
	return a
}

// opens reports whether the blob is still there.
func (h *host) opens(a AttachmentRef) bool {
	h.t.Helper()
	text, err := readBlob(h.t.Context(), h.store.Blobs(), a.Blob)
	if err != nil && !errors.Is(err, storage.ErrNotFound) {
		h.t.Fatal(err)
	}
	return err == nil && len(text) > 0
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
func (h *host) withFiles(files ...AttachmentRef) Job {
	h.Register(Type{Name: "note", Renderer: RendererFunc(func(context.Context, Job, Recipient) (Content, error) {
		return Content{Subject: "Your files", Text: "enclosed", Attachments: files}, nil
	})})
	job := visit("7", person("sam"), person("kim"))
	job.Type = "note"
	return job
}

func TestAMessageGoesOutWithItsAttachments(t *testing.T) {
	visits(t, func(t *testing.T, h *host) {
		h.dispatch(h.withFiles(h.attach("certificate.pdf", "", "%PDF"), h.attach("logo.png", "logo", "png")))
		h.drain()
		want := []Attachment{{"certificate.pdf", "application/pdf", "", []byte("%PDF")}, {"logo.png", "application/pdf", "logo", []byte("png")}}
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
		if _, err := h.EnsureUserMessage(t.Context(), nil, UserMessage{
			Record: storage.Record{Scope: "tenant", Type: "note"}, PartitionKey: "user:sam", JobRowKey: "job", JobPartitionKey: "car",
			Content: Content{Text: "enclosed", Attachments: []AttachmentRef{inApp}}, SourceOn: storetest.Start,
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
		m := h.status(StatusRetryReady)
		h.same("reason, calls, call started, tries", []any{ReasonAttachment, 0, time.Time{}, 1}, []any{m.ReasonCode, m.Calls, m.CallStartedOn, m.RetryCount})
		for range 5 {
			h.clk.Add(2 * time.Hour)
			h.drain()
		}
		m = h.status(StatusRetryReady)
		h.same("hold", []any{HoldRetries, ReasonAttachment, 0, 0}, []any{m.HoldReason, m.ReasonCode, m.Calls, m.Doubts})
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
		for _, j := range all(h, jobs) {
			if j.Type == "note" && (j.Status != StatusReady || j.RetryCount != 1) {
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
		for _, m := range all(h, outgoingMessages) {
			if m.ReasonCode != ReasonAttachment || m.Calls != 0 {
				h.t.Errorf("message is %s (%s)", m.Status, m.ReasonCode)
			}
		}
	})
}

func TestAttachmentsHaveLimits(t *testing.T) {
	t.Parallel()
	blob := storage.Ref{Name: "0af", Size: 1}
	with := func(change func(*AttachmentRef)) []AttachmentRef {
		a := AttachmentRef{Name: "a.pdf", MediaType: "application/pdf", Blob: blob}
		change(&a)
		return []AttachmentRef{a}
	}
	same := with(func(a *AttachmentRef) { a.ContentID = "logo" })
	many := make([]AttachmentRef, 21)
	for want, files := range map[string][]AttachmentRef{
		"21 attachments, more than 20":                          many,
		"attachments have 20971521 bytes, more than 20971520":   with(func(a *AttachmentRef) { a.Blob.Size = MaxAttachments + 1 }),
		"attachment 1: it names no blob":                        with(func(a *AttachmentRef) { a.Blob = storage.Ref{} }),
		"attachment 1: its name has 0 bytes, not 1 to 200":      with(func(a *AttachmentRef) { a.Name = "" }),
		"attachment 1: its name has 201 bytes, not 1 to 200":    with(func(a *AttachmentRef) { a.Name = strings.Repeat("n", 201) }),
		"attachment 1: its name holds what no file name may":    with(func(a *AttachmentRef) { a.Name = "canary\r\nBcc: x" }),
		"its name holds what no file name":                      with(func(a *AttachmentRef) { a.Name = "../canary" }),
		"its name holds what no file":                           with(func(a *AttachmentRef) { a.Name = "canary\u202efdp.exe" }),
		`attachment 1: "PDF" is no media type`:                  with(func(a *AttachmentRef) { a.MediaType = "PDF" }),
		`attachment 1: "message/rfc822" is the media type of a`: with(func(a *AttachmentRef) { a.MediaType = "message/rfc822" }),
		"its content id is too long or holds more than letters": with(func(a *AttachmentRef) { a.ContentID = "canary>" }),
		"attachment 2: its content id is that of another one":   append(same, same...),
	} {
		err := Content{Attachments: files}.check()
		if !errors.Is(err, ErrContent) || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "canary") {
			t.Errorf("want %q, got %v", want, err)
		}
	}
	twoFiles := append(with(func(*AttachmentRef) {}), with(func(a *AttachmentRef) { a.Blob.Size = MaxAttachments - 1 })...)
	if err := (Content{Attachments: twoFiles}).check(); err != nil {
		t.Error(err)
	}
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
		"name":      {"a/b", "text/csv", iotest.ErrReader(broken), ErrContent},
		"type":      {"a.csv", "csv", iotest.ErrReader(broken), ErrContent},
		"reader":    {"a.csv", "text/csv", iotest.ErrReader(broken), broken},
		"too large": {"a.csv", "text/csv", io.LimitReader(zeros{}, MaxAttachments+1), ErrContent},
	} {
		if a, err := Attach(t.Context(), blobs, c.file, c.kind, "", c.r); !errors.Is(err, c.want) || a != (AttachmentRef{}) {
			t.Errorf("%s: %v, %v", name, a, err)
		}
	}
	a, err := Attach(t.Context(), blobs, "a.csv", "text/csv", "", iotest.OneByteReader(bytes.NewReader([]byte("a,b"))))
	if err != nil || a.Blob.Size != 3 {
		t.Error(a, err)
	}
	a, err = Attach(t.Context(), blobs, "a.bin", "application/octet-stream", "", io.LimitReader(zeros{}, MaxAttachments))
	if err != nil || a.Blob.Size != MaxAttachments {
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
		h.same("attachments", []AttachmentRef{file}, got.Attachments)
		h.collectLater()
		if h.opens(file) {
			h.t.Error("a preview keeps its files for ever")
		}
	})
}
