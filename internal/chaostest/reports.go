package chaostest

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/notify/channel"
)

// ses makes a mail of each request, and reports it where the request says so.
func (b *mailbox) ses(w http.ResponseWriter, r *http.Request) {
	var mail struct {
		Tags []struct{ Value string } `json:"EmailTags"`
		Set  string                   `json:"ConfigurationSetName"`
	}
	if err := json.NewDecoder(r.Body).Decode(&mail); err != nil || len(mail.Tags) != 1 {
		http.Error(w, "bad request", http.StatusBadRequest)
		return
	}
	id := mail.Tags[0].Value
	if b.take(r, id, func() {
		b.mails["ses "+id]++
		if mail.Set != "" {
			b.reports = append(b.reports, channel.StatusEvent{Provider: "ses", EventID: "e-" + id, Kind: channel.KindDelivered, MessageID: id, ProviderMessageID: "ses-" + id})
		}
	}) {
		fmt.Fprintf(w, `{"MessageId":"ses-%s"}`, id)
	}
}

// Reports has mails flow over channels to SES, which neither knows a repeat nor can be
// asked, while workers are killed as in [Mails]. The first one's mails are reported, the
// second one's are not. None is lost, and none is made twice. What waits for a person is
// exactly this: of the first channel, calls that were cut off before SES had them; of the
// second, all calls that were cut off.
func Reports(t *testing.T, d Driver) {
	m := newMailing(t, d, 1200, 16)
	told := 0
	before := m.flow(func() {
		m.box.mu.Lock()
		since := m.box.reports[told:]
		told += len(since)
		m.box.mu.Unlock()
		if len(since) == 0 {
			return
		}
		m.on(func(ctx context.Context, h *Host) error {
			_, err := notify.New(h.Store, nil, d.mails(m.box.URL)...).Track(ctx, since...)
			return err
		})
	})
	counts := map[string]int{}
	for row, doubts := range m.query("SELECT message_id || ' ' || kind || ' ' || status || ' ' || CASE WHEN is_on_support_hold THEN hold_reason ELSE '' END, doubts FROM outgoing_message") {
		id, rest, _ := strings.Cut(row, " ")
		made := m.box.mails["ses "+id]
		m.reported(strings.Fields(rest), id, made, doubts, counts)
	}
	t.Logf("%s: %d kills, %d messages, %d of them before the last kill: %v", d.Name, m.kills, m.messages, before, counts)
	for _, c := range m.channels {
		if counts[c+" waits, not made"] == 0 {
			t.Errorf("no call of %s was cut off before its mail was made", c)
		}
	}
	if counts[m.channels[0]+" cut off, ended by a report"] == 0 || counts[m.channels[1]+" waits, made"] == 0 {
		t.Errorf("no call was cut off after its mail was made")
	}
}

// reported looks at a message (its channel, status, and why it is held), of which so many
// mails were made, and counts it.
func (m *mailing) reported(row []string, id string, made, doubts int, counts map[string]int) {
	kind, status, held := row[0], row[1], len(row) > 2
	reports := kind == m.channels[0]
	waits := status == "OutcomeUnknown" && held && row[2] == notify.HoldInDoubt && doubts > 0
	switch {
	case made > 1:
		m.t.Errorf("%s of %s was made %d times", id, kind, made)
	case waits && made == 0:
		counts[kind+" waits, not made"]++
	case waits && !reports:
		counts[kind+" waits, made"]++
	case made == 1 && reports && status == "Delivered" && !held && m.box.cut[id]:
		counts[kind+" cut off, ended by a report"]++
	case made == 1 && reports && status == "Delivered" && !held, made == 1 && !reports && status == "SentToProvider" && doubts == 0:
		counts[kind+" sent"]++
	default:
		m.t.Errorf("%s of %s, of which %d mails were made, is %v after %d doubts", id, kind, made, row[1:], doubts)
	}
}
