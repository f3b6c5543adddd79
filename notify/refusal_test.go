package notify_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/belfry-go/belfry/keys"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/memory"
)

func TestNothingIsWrittenIfOneArgumentIsRefused(t *testing.T) {
	visitsInMemory(t, func(h *host) {
		bad := visit("8", person("sam"))
		bad.RowKey = "two\x1fparts"
		_, err := h.EnsureNotificationJob(t.Context(), nil, visit("7", person("sam")), bad)
		var part *keys.PartError
		if !errors.As(err, &part) || !strings.Contains(err.Error(), "argument 2") {
			t.Errorf("error is %v", err)
		}
		if n := len(all(h, notify.Jobs)); n != 0 {
			t.Errorf("%d jobs", n)
		}
	})
}

//spec:n-037
func TestBadInputIsRefusedWithWhatAndWhere(t *testing.T) {
	visitsInMemory(t, func(h *host) {
		ctx := t.Context()
		job := func(change func(*notify.Job)) error {
			j := visit("7", person("sam"))
			change(&j)
			_, err := h.EnsureNotificationJob(ctx, nil, j)
			return err
		}
		message := func(change func(*notify.OutgoingMessage)) error {
			m := notify.OutgoingMessage{Record: storage.Record{Type: channelKey}, PartitionKey: "job", NotificationType: "visit", Address: "sam@example.com"}
			change(&m)
			_, err := h.EnsureOutgoingMessage(ctx, nil, m)
			return err
		}
		_, errArtifact := h.EnsureNotificationScheduler(ctx, nil, notify.Schedule{Type: "visit", ArtifactType: "Letter", ArtifactPartitionKey: "a", ArtifactRowKey: "b"})
		_, errInboxKind := h.EnsureUserMessage(ctx, nil, notify.UserMessage{Type: "visit", PartitionKey: "sam"})
		_, errTrace := h.EnsureAutomationJob(ctx, nil, notify.AutomationJob{PartitionKey: "a", RowKey: "b"})
		_, errGUID := h.EnsureMessagingJob(ctx, nil, notify.MessagingJob{})
		for want, err := range map[string]error{
			"Type is empty":              job(func(j *notify.Job) { j.Type = "" }),
			"part 1: is empty":           job(func(j *notify.Job) { j.PartitionKey = "" }),
			"EventData: unexpected end":  job(func(j *notify.Job) { j.EventData = []byte("{") }),
			"EventData has":              job(func(j *notify.Job) { j.EventData = []byte(`"` + strings.Repeat("x", notify.MaxEventData) + `"`) }),
			"recipient 1: the inbox":     job(func(j *notify.Job) { j.Recipients[0].Inbox = "sam" }),
			"recipient 1: holds a NUL":   job(func(j *notify.Job) { j.Recipients[0].Name = "\x00" }),
			`method "Mail"`:              job(func(j *notify.Job) { j.Recipients[0].Channel = "Mail" }),
			"channel key, is empty":      message(func(m *notify.OutgoingMessage) { m.Type = "" }),
			"NotificationType is empty":  message(func(m *notify.OutgoingMessage) { m.NotificationType = "" }),
			"address":                    message(func(m *notify.OutgoingMessage) { m.Address = "nobody" }),
			"subject holds a line break": message(func(m *notify.OutgoingMessage) { m.Content.Subject = "a\nb" }),
			"text has 65537 bytes":       message(func(m *notify.OutgoingMessage) { m.Content.Text = strings.Repeat("x", notify.MaxText+1) }),
			"HTML holds a NUL":           message(func(m *notify.OutgoingMessage) { m.Content.HTML = "\x00" }),
			"metadata have": message(func(m *notify.OutgoingMessage) {
				m.Content.Metadata = map[string]string{"a": strings.Repeat("x", 9000)}
			}),
			`ArtifactType "Letter"`:        errArtifact,
			"neither":                      errInboxKind,
			"AutomationJob, argument 1":    errTrace,
			"MessagingJob, argument 1":     errGUID,
			"NotificationJob, argument 1:": job(func(j *notify.Job) { j.RowKey = "" }),
		} {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("want %q, error is %v", want, err)
			}
		}
		if n := len(all(h, notify.Jobs)) + len(all(h, notify.Messages)) + len(all(h, notify.UserMessages)) + len(all(h, notify.Schedules)); n != 0 {
			t.Errorf("%d rows were written", n)
		}
	})
}

func TestATransactionOfAnotherStoreIsRefused(t *testing.T) {
	visitsInMemory(t, func(h *host) {
		err := memory.New(nil).InTx(t.Context(), func(tx storage.Tx) error {
			_, err := h.EnsureNotificationJob(t.Context(), tx, visit("7"))
			return err
		})
		if !errors.Is(err, notify.ErrForeignTx) {
			t.Errorf("error is %v", err)
		}
	})
}
