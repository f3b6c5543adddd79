package notify

import (
	"errors"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/belfry-go/belfry/notify/channel"
	"github.com/belfry-go/belfry/notify/gate"
	"github.com/belfry-go/belfry/storage"
)

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
		`attachment 1: "PDF" is not a media type`:               with(func(a *AttachmentRef) { a.MediaType = "PDF" }),
		`attachment 1: "message/rfc822" is the media type of a`: with(func(a *AttachmentRef) { a.MediaType = "message/rfc822" }),
		"its content id is too long or holds more than letters": with(func(a *AttachmentRef) { a.ContentID = "canary>" }),
		"attachment 2: its content id is that of another one":   append(same, same...),
	} {
		err := Content{Attachments: files}.check()
		if !errors.Is(err, channel.ErrContent) || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "canary") {
			t.Errorf("want %q, got %v", want, err)
		}
	}
	twoFiles := append(with(func(*AttachmentRef) {}), with(func(a *AttachmentRef) { a.Blob.Size = MaxAttachments - 1 })...)
	if err := (Content{Attachments: twoFiles}).check(); err != nil {
		t.Error(err)
	}
}

func FuzzTheSubjectIsOneLineOrRefused(f *testing.F) {
	f.Add("plain")
	f.Add("two\r\nBcc: lines")
	f.Add("\x00\xff\u2028")
	f.Fuzz(func(t *testing.T, subject string) {
		err := Content{Subject: subject}.check()
		if err == nil && strings.ContainsAny(subject, "\r\n\x00") {
			t.Errorf("%q was accepted", subject)
		}
	})
}

var kinds = []channel.StatusKind{channel.KindAccepted, channel.KindFailed, channel.KindDelivered, channel.KindOpened, channel.KindBounced, channel.KindComplained, channel.KindUnsubscribed}

// highest is the model: what remains of reports in whatever order.
func highest(kinds []channel.StatusKind) string {
	for _, k := range []channel.StatusKind{channel.KindOpened, channel.KindDelivered, channel.KindFailed} {
		for _, got := range kinds {
			if got == k {
				return statusOf[k]
			}
		}
	}
	return StatusSentToProvider
}

func TestI27_CallbacksInAnyOrderAndMultiplicityGiveTheSameStatus(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		from := rapid.SampledFrom(outgoingStates.States()).Draw(t, "from")
		some := rapid.SliceOfN(rapid.SampledFrom(kinds), 1, 6).Draw(t, "reports")
		other := rapid.Permutation(append(some, rapid.SliceOf(rapid.SampledFrom(some)).Draw(t, "again")...)).Draw(t, "other order")
		one, two := message(from), message(from)
		for _, k := range some {
			before := heights[one.Status]
			one.reported(now, &deliveryEvent{StatusKind: k, On: now})
			if heights[one.Status] < before || !one.DueOn.IsZero() {
				t.Fatalf("%s went down to %s", from, one.Status)
			}
		}
		for _, k := range other {
			two.reported(now, &deliveryEvent{StatusKind: k, On: now})
		}
		if one.Status != two.Status {
			t.Errorf("from %s: %v give %s, %v give %s", from, some, one.Status, other, two.Status)
		}
		if heights[from] == 0 && one.Status != highest(some) {
			t.Errorf("from %s: %v give %s", from, some, one.Status)
		}
	})
}

func TestMandatoryMessagesPassAnUnsubscriptionAndRequestedOnesAComplaint(t *testing.T) {
	t.Parallel()
	for reason, want := range map[channel.SuppressionReason][3]bool{"": {}, channel.HardBounce: {true, true, true}, channel.Complaint: {true, true, false}, channel.Unsubscribe: {true, false, false}} {
		if got := [3]bool{stops(reason, &gate.Attempt{}), stops(reason, &gate.Attempt{Mandatory: true}), stops(reason, &gate.Attempt{Mandatory: true, Requested: true})}; got != want {
			t.Errorf("%q stops %v, want %v", reason, got, want)
		}
	}
}
