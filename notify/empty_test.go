package notify_test

import (
	"testing"

	"github.com/belfry-go/belfry"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/notify/notifytest"
	"github.com/belfry-go/belfry/reasons"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/memory"
)

// A type whose template was forgotten sends no empty mail: its jobs fail with a text that
// says so.
func TestAMessageThatSaysNothingIsNotSent(t *testing.T) {
	t.Parallel()
	store, mails := memory.New(nil), notifytest.NewRecorder()
	out := notify.New(store, nil, mails)
	out.Register(notify.Type{Name: "receipt", Renderer: notify.Template{}})
	job := notify.Job{Type: "receipt", RowKey: "1001", Recipients: []notify.Recipient{{Ref: "sam", Channel: "email:test", Address: "sam@example.com"}}}
	if _, err := out.Notify(t.Context(), job); err != nil {
		t.Fatal(err)
	}
	if err := belfry.NewPoller(store, nil, out).Drain(t.Context()); err != nil {
		t.Fatal(err)
	}
	mails.Sent(t, 0)
	trace, err := out.Trace(t.Context(), "", notify.Coordinates{PartitionKey: "1001", RowKey: "1001"})
	const want = "channel: content refused: it is empty: give its type a Template or a Renderer that makes a subject, a text, HTML, a provider's template, metadata or an attachment"
	if err != nil || trace.Job == nil || trace.Job.ReasonCode != reasons.RenderFailed || trace.Job.Diagnostics != want {
		t.Errorf("%+v %v", trace.Job, err)
	}
	if _, _, err := out.Support().AllMessages(t.Context(), "", storage.Page{}); err != nil {
		t.Error(err)
	}
}
