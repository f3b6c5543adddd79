package notify_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/notify/channel"
	"github.com/belfry-go/belfry/storage"
)

// batches is a channel that takes several messages by one call: the results are those of
// the provider, unless fail says that of the whole call.
type batches struct {
	*provider
	most int
	fail func(texts []string) error

	mu   sync.Mutex
	made [][]string // the texts of each batch
}

func (b *batches) MaxBatch() int { return b.most }
func (b *batches) MaxCalls() int { return 1 }

func (b *batches) SendBatch(ctx context.Context, all []channel.Message) (out []channel.BatchResult, err error) {
	var texts []string
	for _, m := range all {
		texts = append(texts, m.Text)
	}
	b.mu.Lock()
	b.made = append(b.made, texts)
	b.mu.Unlock()
	if b.fail != nil {
		if err := b.fail(texts); err != nil {
			return nil, err
		}
	}
	for _, m := range all {
		receipt, err := b.Send(ctx, m)
		out = append(out, channel.BatchResult{Receipt: receipt, Err: err})
	}
	return out, nil
}

// sizes are how many messages the batches had.
func (b *batches) sizes() (out []int) {
	for _, texts := range b.made {
		out = append(out, len(texts))
	}
	return out
}

// inBatches runs a test on every adapter with a host whose channel takes five at once.
func inBatches(t *testing.T, test func(t *testing.T, h *host, b *batches)) {
	gated(t, func(storage.Store) *notify.Options { return &notify.Options{} }, func(t *testing.T, h *host) {
		b := &batches{provider: h.provider, most: 5}
		h.Notifier = notify.New(h.store, &notify.Options{Logger: quiet}, b)
		h.Register(notify.Type{Name: "visit", Renderer: visitTemplate})
		test(t, h, b)
	})
}

func letters(n int) (out []notify.OutgoingMessage) {
	for i := range n {
		out = append(out, letter(fmt.Sprint("m", i), fmt.Sprint("r", i)))
	}
	return out
}

// statuses counts the messages in each.
func (h *host) statuses() map[string]int {
	out := map[string]int{}
	for _, m := range all(h, notify.Messages) {
		out[m.Status]++
	}
	return out
}

func TestMessagesOfOneClaimGoTogetherAndEachHasItsOwnResult(t *testing.T) {
	inBatches(t, func(t *testing.T, h *host, b *batches) {
		h.answer = func(_ context.Context, m channel.Message) (channel.Receipt, error) {
			switch m.Text {
			case "m3":
				return channel.Receipt{}, channel.Permanent("406", nil).Suppressing(channel.HardBounce)
			case "m4":
				return channel.Receipt{}, errors.New("later")
			}
			return channel.Receipt{ID: "id of " + m.Text}, nil
		}
		h.ensure(letters(12)...)
		h.drain()
		h.same("batches", []int{5, 5, 2}, b.sizes())
		h.same("statuses", map[string]int{notify.StatusSentToProvider: 10, notify.StatusFailedFinal: 1, notify.StatusRetryReady: 1}, h.statuses())
		for _, m := range all(h, notify.Messages) {
			if m.Status == notify.StatusSentToProvider && m.ProviderMessageID != "id of "+m.Content.Text {
				t.Errorf("%s has %q", m.Content.Text, m.ProviderMessageID)
			}
		}
		h.same("suppressed", []string{"HardBounce test"}, h.suppressions("tenant"))
	})
}

// A request without an answer leaves all of it in doubt, and behind it messages go one by
// one until the channel answers.
func TestDoubtIsOfAWholeBatch(t *testing.T) {
	inBatches(t, func(t *testing.T, h *host, b *batches) {
		b.most, b.fail = 30, func([]string) error { return channel.Unknown("cut", nil) }
		h.ensure(letters(15)...)
		h.drain()
		h.same("batches", []int{15}, b.sizes())
		h.same("statuses", map[string]int{notify.StatusOutcomeUnknown: 15}, h.statuses())
		b.fail = nil
		h.ensure(letter("another", "kim"), letter("one more", "eve"))
		h.drain()
		h.same("batches", []int{15}, b.sizes())
		if got := h.texts(); got["another"] != 1 || got["one more"] != 1 || len(got) != 2 {
			t.Error("sent:", got)
		}
	})
}

// A message for which a whole batch is refused keeps none of the others back, and none
// of them fails for it.
func TestABatchThatIsRefusedGoesOneByOneNextTime(t *testing.T) {
	inBatches(t, func(t *testing.T, h *host, b *batches) {
		bad := func(texts []string) bool { return slices.Contains(texts, "m2") }
		b.fail = func(texts []string) error {
			if bad(texts) {
				return channel.Permanent("422", nil).Blame(channel.FaultMessage)
			}
			return nil
		}
		h.answer = func(_ context.Context, m channel.Message) (channel.Receipt, error) {
			if bad([]string{m.Text}) {
				return channel.Receipt{}, channel.Permanent("422", nil).Blame(channel.FaultMessage)
			}
			return channel.Receipt{}, nil
		}
		h.ensure(letters(5)...)
		h.drain()
		h.same("statuses", map[string]int{notify.StatusRetryReady: 5}, h.statuses())
		for _, m := range all(h, notify.Messages) {
			if m.DueOn.After(h.clk.Now()) {
				h.clk.Set(m.DueOn)
			}
		}
		h.drain()
		h.same("batches", []int{5}, b.sizes())
		h.same("statuses", map[string]int{notify.StatusSentToProvider: 4, notify.StatusFailedFinal: 1}, h.statuses())
	})
}

// Whoever refuses a message is there: those without an answer are counted anew.
func TestARefusalIsAnAnswer(t *testing.T) {
	inBatches(t, func(t *testing.T, h *host, b *batches) {
		b.most, b.fail = 30, func([]string) error { return channel.Unknown("cut", nil) }
		for round := range 3 {
			for i := range 19 {
				h.ensure(letter(fmt.Sprint(round, " ", i), fmt.Sprint("r", i)))
			}
			h.drain()
			h.answer = failing(channel.Permanent("422", nil))
			h.ensure(letter(fmt.Sprint("refused ", round), "kim"))
			h.drain()
		}
		h.same("batches", []int{19, 19, 19}, b.sizes())
		h.same("outages", 0, len(h.outages("tenant")))
	})
}

// Results of another number say nothing of anybody.
func TestResultsThatDoNotFitLeaveABatchInDoubt(t *testing.T) {
	gated(t, func(storage.Store) *notify.Options { return &notify.Options{} }, func(t *testing.T, h *host) {
		h.Notifier = notify.New(h.store, &notify.Options{Logger: quiet}, short{&batches{provider: h.provider, most: 5}})
		h.Register(notify.Type{Name: "visit", Renderer: visitTemplate})
		h.ensure(letters(3)...)
		h.drain()
		h.same("statuses", map[string]int{notify.StatusOutcomeUnknown: 3}, h.statuses())
	})
}

type short struct{ *batches }

func (s short) SendBatch(ctx context.Context, all []channel.Message) ([]channel.BatchResult, error) {
	out, err := s.batches.SendBatch(ctx, all)
	return out[1:], err
}

// A message with files makes a call of its own.
func TestABatchHasNoFilesAndIsNotTooLong(t *testing.T) {
	inBatches(t, func(t *testing.T, h *host, b *batches) {
		long := strings.Repeat("x", channel.MaxHTML-100) // 33 of them are over 8 MiB
		want := letters(40)
		for i := range want {
			want[i].Content.HTML = long
		}
		want[39].Content.Attachments = []notify.AttachmentRef{h.attach("certificate.pdf", "", "%PDF")}
		b.most = 100
		h.ensure(want...)
		h.drain()
		h.same("batches", []int{32, 7}, b.sizes())
		h.same("statuses", map[string]int{notify.StatusSentToProvider: 40}, h.statuses())
	})
}
