package notify_test

import (
	"context"
	"errors"
	"github.com/belfry-go/belfry/reasons"
	"github.com/belfry-go/belfry/storage/driver"
	"strings"
	"testing"
	"time"

	"github.com/belfry-go/belfry/internal/storetest"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/notify/channel"
	"github.com/belfry-go/belfry/notify/gate"
	"github.com/belfry-go/belfry/storage"
)

// The generator fails for a while; the job waits and then arrives.
func TestARendererThatFailsIsTriedAgain(t *testing.T) {
	visits(t, func(t *testing.T, h *host) {
		broken := true
		h.Register(notify.Type{Name: "moody", Renderer: notify.RendererFunc(func(context.Context, notify.Job, notify.Recipient) (notify.Content, error) {
			if broken {
				panic("secret text")
			}
			return notify.Content{Text: "at last"}, nil
		})})
		job := visit("7", person("sam"))
		job.Type = "moody"
		h.dispatch(job)
		h.drain()
		j := only(h, notify.Jobs)
		if j.Status != notify.StatusReady || j.ReasonCode != reasons.RenderFailed || j.RetryCount != 1 {
			t.Fatalf("job is %+v", j)
		}
		trace, err := h.Trace(t.Context(), j.Scope, j.Coordinates())
		if err != nil || trace.Job.Diagnostics != "panic: string" || !strings.Contains(trace.String(), "\n  last error: "+trace.Job.Diagnostics) {
			t.Error(trace, err)
		}
		broken = false
		h.clk.Set(j.DueOn)
		h.drain()
		h.status(notify.StatusSentToProvider)
		h.same("after a good try", "", only(h, notify.Jobs).Diagnostics)
	})
}

func TestContentThatNoChannelMaySendFailsAtOnce(t *testing.T) {
	visits(t, func(t *testing.T, h *host) {
		h.Register(notify.Type{Name: "forged", Renderer: notify.RendererFunc(func(context.Context, notify.Job, notify.Recipient) (notify.Content, error) {
			return notify.Content{Subject: "hello\r\nBcc: everybody@example.com"}, nil
		})})
		job := visit("7", person("sam"))
		job.Type = "forged"
		h.dispatch(job)
		h.drain()
		j := only(h, notify.Jobs)
		h.same("hold", driver.SupportHold{IsOnSupportHold: true, HoldReason: reasons.Refused}, j.SupportHold)
		if j.Status != notify.StatusFailed || len(all(h, notify.Messages)) != 0 {
			t.Errorf("job is %s", j.Status)
		}
	})
}

// fussy registers a type that does not like kim.
func (h *host) fussy(dislike func() (notify.Content, error)) {
	h.Register(notify.Type{Name: "fussy", Renderer: notify.RendererFunc(func(_ context.Context, _ notify.Job, r notify.Recipient) (notify.Content, error) {
		if r.Ref == "kim" {
			return dislike()
		}
		return notify.Content{Text: "Dear " + r.Name}, nil
	})})
}

// likes is what became of a job for three people, one of whom is kim.
func (h *host) likes(status, reason string, want map[string]string) {
	h.t.Helper()
	h.same("messages", want, h.outcomes())
	if j := only(h, notify.Jobs); j.Status != status || j.ReasonCode != reason {
		h.t.Errorf("job is %s %s", j.Status, j.ReasonCode)
	}
}

func (h *host) dislikeKim() {
	job := visit("7", person("sam"), person("kim"), person("lee"))
	job.Type = "fussy"
	h.dispatch(job)
	h.drain()
}

// One who cannot be rendered costs himself, and not the two others of his job.
func TestOneWhoCannotBeRenderedCostsHimself(t *testing.T) {
	for name, c := range map[string]struct {
		content notify.Content
		err     error
		reason  string
	}{
		"refused":             {err: channel.Permanent("NoCar", nil), reason: "NoCar"},
		"no content":          {content: notify.Content{Subject: "hello\r\nBcc: everybody@example.com"}, reason: reasons.RenderFailed},
		"a file that is none": {content: notify.Content{Attachments: []notify.AttachmentRef{{Name: "a/b"}}}, reason: reasons.RenderFailed},
	} {
		t.Run(name, func(t *testing.T) {
			visits(t, func(t *testing.T, h *host) {
				h.fussy(func() (notify.Content, error) { return c.content, c.err })
				h.dislikeKim()
				h.likes(notify.StatusGenerated, c.reason, map[string]string{"sam": "SentToProvider", "kim": "Skipped " + c.reason, "lee": "SentToProvider"})
			})
		})
	}
}

// An error that may pass is tried again for him, while the others have their messages.
func TestOneWhoCannotBeRenderedYetIsTriedAgain(t *testing.T) {
	for name, mended := range map[string]bool{"mended": true, "never": false} {
		t.Run(name, func(t *testing.T) {
			visits(t, func(t *testing.T, h *host) {
				broken := true
				h.fussy(func() (notify.Content, error) {
					if broken {
						panic("secret text")
					}
					return notify.Content{Text: "at last"}, nil
				})
				h.dislikeKim()
				others := map[string]string{"sam": "SentToProvider", "lee": "SentToProvider"}
				for tries := 1; tries <= 3; tries++ {
					h.likes(notify.StatusReady, reasons.RenderFailed, others)
					h.same("tries", tries, only(h, notify.Jobs).RetryCount)
					broken = tries < 3 || !mended
					h.clk.Set(only(h, notify.Jobs).DueOn)
					h.drain()
				}
				if others["kim"] = "SentToProvider"; mended {
					h.likes(notify.StatusGenerated, "", others)
				} else {
					others["kim"] = "Skipped RenderFailed"
					h.likes(notify.StatusGenerated, reasons.RenderFailed, others)
				}
				h.same("says why", !mended, only(h, notify.Jobs).Diagnostics == "panic: string")
				h.same("calls", len(others)-len(skippedOf(others)), len(h.sent()))
			})
		})
	}
}

func skippedOf(outcomes map[string]string) (out []string) {
	for who, what := range outcomes {
		if strings.HasPrefix(what, notify.StatusSkipped) {
			out = append(out, who)
		}
	}
	return out
}

func TestAJobForNobodyIsSkippedWithAReason(t *testing.T) {
	for reason, people := range map[string][]notify.Recipient{
		reasons.NoRecipients:  nil,
		reasons.NoDestination: {{Ref: "sam"}},
	} {
		t.Run(reason, func(t *testing.T) {
			visits(t, func(t *testing.T, h *host) {
				h.dispatch(visit("7", people...))
				h.drain()
				if j := only(h, notify.Jobs); j.Status != notify.StatusSkipped || j.ReasonCode != reason {
					t.Errorf("job is %s: %s", j.Status, j.ReasonCode)
				}
			})
		})
	}
}

func TestABadAddressIsKeptAsSkippedAndStopsNobodyElse(t *testing.T) {
	visits(t, func(t *testing.T, h *host) {
		bad := person("kim")
		bad.Address = "no address\x1b"
		h.dispatch(visit("7", bad, person("sam")))
		h.drain()
		states := map[string]string{}
		for _, m := range all(h, notify.Messages) {
			states[m.RecipientRef] = m.Status + " " + m.ReasonCode
		}
		h.same("messages", map[string]string{"kim": "Skipped BadAddress", "sam": "SentToProvider "}, states)
		if j := only(h, notify.Jobs); j.Status != notify.StatusGenerated || j.ReasonCode != reasons.BadAddress {
			t.Errorf("job is %s %s", j.Status, j.ReasonCode)
		}
	})
}

// First rendering wins: the template, the address and the hash key all change
// between a run of the generator and its repeat.
func TestTheFirstRenderingWins(t *testing.T) {
	for name, text := range map[string]string{"in the row": "short", "in a blob": strings.Repeat("long ", 1000)} {
		t.Run(name, func(t *testing.T) {
			visits(t, func(t *testing.T, h *host) {
				h.Register(notify.Type{Name: "note", Renderer: renders(text)})
				job := visit("7", person("sam"), inbox("sam"))
				job.Type = "note"
				h.dispatch(job)
				h.run("notify.scheduler")
				h.run("notify.generator")
				before, inbox := h.status(notify.StatusCreated), only(h, notify.UserMessages)

				h.clk.Add(48 * time.Hour) // a blob that nobody named would be collected
				if _, err := h.store.Blobs().Collect(t.Context(), 100); err != nil {
					t.Fatal(err)
				}
				later := notify.New(h.store, &notify.Options{HashKey: hashKeyOf("another key"), FormerHashKeys: [][]byte{nil}}, h.provider)
				later.Register(notify.Type{Name: "note", Renderer: renders("changed")})
				if err := later.Contacts().RotateHashKey(t.Context(), support, nil); err != nil {
					t.Fatal(err)
				}
				h.Notifier = later
				h.regenerate()
				h.same("message", before, h.status(notify.StatusCreated))
				h.same("in-app message", inbox, only(h, notify.UserMessages))

				h.inOne(func(tx storage.Tx) error { return notify.Messages.Delete(t.Context(), tx, before) })
				h.regenerate()
				again := h.status(notify.StatusCreated)
				h.same("content of a message that was lost", before.Content, again.Content)
				h.same("its key", before.Key, again.Key)
			})
		})
	}
}

func renders(text string) notify.Renderer {
	return notify.RendererFunc(func(context.Context, notify.Job, notify.Recipient) (notify.Content, error) {
		return notify.Content{Text: text}, nil
	})
}

func TestContentHashIsCheckedOnlyWhereTheCallerSuppliesTheContent(t *testing.T) {
	visits(t, func(t *testing.T, h *host) {
		ensure := func(text, hash string) error {
			_, err := h.EnsureOutgoingMessage(t.Context(), nil, notify.OutgoingMessage{
				Channel: channelKey, PartitionKey: "job", NotificationType: "visit",
				Address: "sam@example.com", Content: notify.Content{Text: text}, ContentHash: hash,
			})
			return err
		}
		for _, text := range []string{"first", "", "first"} { // one who gives no content agrees with every other
			if err := ensure(text, ""); err != nil {
				t.Error(err)
			}
		}
		var conflict *notify.ConflictError
		if err := ensure("second", ""); !errors.As(err, &conflict) || conflict.Field != "ContentHash" {
			t.Errorf("the content of the second is lost without a word: %v", err)
		}
		if got := h.status(notify.StatusCreated); got.Content.Text != "first" || got.ContentHash != got.Content.Hash() {
			t.Errorf("content is %q", got.Content.Text)
		}
		inbox := func(text string) error {
			_, err := h.EnsureUserMessage(t.Context(), nil, notify.UserMessage{
				Type: "visit", PartitionKey: "user:sam", JobRowKey: "7", SourceOn: storetest.Start, Content: notify.Content{Text: text},
			})
			return err
		}
		if err := errors.Join(inbox("first"), inbox(""), inbox("first")); err != nil {
			t.Error(err)
		}
		if err := inbox("second"); !errors.As(err, &conflict) || conflict.Field != "ContentHash" {
			t.Errorf("the content of the second is lost without a word: %v", err)
		}
	})
}

// The generator renders anew after a crash, and what it has made stands; a caller's
// content under the same key is compared with nothing.
func TestMessagesOfTheGeneratorCarryNoContentHash(t *testing.T) {
	visits(t, func(t *testing.T, h *host) {
		both := person("sam")
		both.Inbox = "user:sam"
		h.dispatch(visit("7", both))
		h.drain()
		if m, u := h.status(notify.StatusSentToProvider), only(h, notify.UserMessages); m.ContentHash != "" || u.ContentHash != "" {
			t.Errorf("hashes are %q and %q", m.ContentHash, u.ContentHash)
		}
	})
}

// Communication - System architecture, "Partial failure handling": any key hash
// mismatch stops the send. Another producer has taken the job's message key.
func TestHashMismatchStopsTheSend(t *testing.T) {
	visits(t, func(t *testing.T, h *host) {
		job := visit("7", person("sam"), person("kim"), inbox("kim"))
		squatter := notify.OutgoingMessage{
			Scope: "tenant", Channel: channelKey, PartitionKey: job.RowKey, JobPartitionKey: job.PartitionKey,
			NotificationType: "visit", RecipientRef: "sam", Address: "sam@example.com", InputHash: "another", ScheduledOn: h.clk.Now().Add(1e12),
		}
		if _, err := h.EnsureOutgoingMessage(t.Context(), nil, squatter); err != nil {
			t.Fatal(err)
		}
		h.dispatch(job)
		h.drain()
		if n := len(h.sent()); n != 0 {
			t.Fatalf("%d calls", n)
		}
		j := only(h, notify.Jobs)
		h.same("hold", driver.SupportHold{IsOnSupportHold: true, HoldReason: reasons.Conflict}, j.SupportHold)
		if j.ReasonCode != reasons.Conflict {
			t.Errorf("reason is %s", j.ReasonCode)
		}
		held, _, err := h.Support().Held(t.Context(), "tenant", reasons.Conflict, storage.Page{})
		if err != nil || len(held) != 1 || held[0].RecipientRef != "kim" {
			t.Errorf("held messages are %v, %v", held, err)
		}
		only(h, notify.Conflicts)
	})
}

// asking has a type whose revalidator answers with *v and *err.
func (h *host) asking(v *gate.Verdict, err *error) *int {
	h.t.Helper()
	asked := new(int)
	h.Register(notify.Type{Name: "asked", Renderer: visitTemplate, Revalidator: notify.RevalidatorFunc(func(_ context.Context, j notify.Job) (gate.Verdict, error) {
		*asked++
		if j.SourceKey != "visit:7" {
			h.t.Errorf("asked about %q", j.SourceKey)
		}
		return *v, *err
	})})
	job := visit("7", person("sam"))
	job.Type = "asked"
	h.answer = failing(channel.Transient("busy", 0, nil))
	h.dispatch(job)
	h.drain()
	if h.status(notify.StatusRetryReady); *asked != 1 {
		h.t.Fatalf("asked %d times before the first try", *asked)
	}
	h.answer, *asked = nil, 0
	return asked
}

// A reminder may end while its message is in the queue.
func TestAMessageInTheQueueGoesOutOnlyIfItIsStillWanted(t *testing.T) {
	visits(t, func(t *testing.T, h *host) {
		h.Register(notify.Type{Name: "asked", Renderer: visitTemplate, Revalidator: notify.RevalidatorFunc(func(_ context.Context, j notify.Job) (gate.Verdict, error) {
			if j.Entity == "7" {
				return gate.Skip("SourceNoLongerValid"), nil
			}
			return gate.Proceed(), nil
		})})
		for _, id := range []string{"7", "8"} {
			job := visit(id, person("p"+id))
			job.Type = "asked"
			h.dispatch(job)
		}
		h.drain()
		got := map[string]string{}
		for _, m := range all(h, notify.Messages) {
			got[m.RecipientRef] = m.Status + " " + m.ReasonCode
		}
		h.same("messages", map[string]string{"p7": "Skipped SourceNoLongerValid", "p8": "SentToProvider "}, got)
		h.same("calls", 1, len(h.sent()))
	})
}

// What a reminder is about has passed before anything of it was made.
func TestWhatIsMandatoryIsToldBehindItsReminder(t *testing.T) {
	visits(t, func(t *testing.T, h *host) {
		h.Register(notify.Type{Name: "optional", Renderer: visitTemplate})
		h.Register(notify.Type{Name: "required", Renderer: visitTemplate, Mandatory: true})
		for _, c := range []struct{ id, of, source string }{
			{"late", "optional", "reminder:visit:car:late:default:2026-03-01:1"},
			{"told", "required", "reminder:visit:car:told:default:2026-03-01:1"},
			{"said", "required", "host:visit:car:said:default"},
		} {
			job := visit(c.id, person(c.id))
			job.Type, job.SourceKey, job.ValidUntil = c.of, c.source, h.clk.Now()
			h.dispatch(job)
		}
		h.drain()
		got := map[string]string{}
		for _, m := range all(h, notify.Messages) {
			got[m.RecipientRef] = m.Status + " " + m.ReasonCode
		}
		h.same("messages", map[string]string{"late": "Expired TooLate", "told": "SentToProvider ", "said": "Expired TooLate"}, got)
	})
}

// An inbox is not told either.
func TestAJobThatIsStaleTellsNoInbox(t *testing.T) {
	visits(t, func(t *testing.T, h *host) {
		job := visit("7", notify.Recipient{Ref: "sam", Inbox: "user:sam"})
		job.ValidUntil = h.clk.Now()
		h.dispatch(job)
		h.drain()
		j := all(h, notify.Jobs)[0]
		h.same("job", notify.StatusSkipped+" "+reasons.TooLate, j.Status+" "+j.ReasonCode)
		h.same("inbox", 0, len(all(h, notify.UserMessages)))
	})
}

func (h *host) nextTry() {
	h.t.Helper()
	h.clk.Set(h.status(notify.StatusRetryReady).DueOn)
	h.drain()
}

func TestARetriedMessageGoesOutOnlyIfItIsStillWanted(t *testing.T) {
	visits(t, func(t *testing.T, h *host) {
		var v gate.Verdict
		var err error
		asked := h.asking(&v, &err)

		v = gate.Defer(h.clk.Now().Add(time.Hour), "QuietHours")
		h.nextTry()
		if m := h.status(notify.StatusRetryReady); m.ReasonCode != "QuietHours" || m.RetryCount != 1 || m.Calls != 1 {
			t.Fatalf("deferred message is %+v", m)
		}
		v, err = gate.Verdict{}, errors.New("source away")
		h.nextTry()
		if m := h.status(notify.StatusRetryReady); m.ReasonCode != reasons.RevalidationFailed || m.RetryCount != 2 || m.Calls != 1 {
			t.Fatalf("unanswered message is %+v", m)
		}
		v, err = gate.Skip("SourceNoLongerValid"), nil
		h.nextTry()
		if m := h.status(notify.StatusSkipped); m.ReasonCode != "SourceNoLongerValid" || !m.DueOn.IsZero() || m.EndedOn.IsZero() {
			t.Errorf("message is %+v", m)
		}
		if len(h.sent()) != 1 || *asked != 3 {
			t.Errorf("%d calls, asked %d times", len(h.sent()), *asked)
		}
	})
}

func TestAMessageNobodyCanAskAboutIsHeldInTheEnd(t *testing.T) {
	visitsInMemory(t, func(h *host) {
		var v gate.Verdict
		var err error
		h.asking(&v, &err)
		err = errors.New("source away")
		for range 3 {
			h.nextTry()
		}
		m := h.status(notify.StatusRetryReady)
		h.same("hold", driver.SupportHold{IsOnSupportHold: true, HoldReason: reasons.RetriesExhausted}, m.SupportHold)
		if !m.DueOn.IsZero() || m.Calls != 1 {
			t.Errorf("message is %+v", m)
		}
		v, err = gate.Skip("SourceNoLongerValid"), nil
		if err := h.Support().Release(t.Context(), "tenant", notify.ArtifactOutgoingMessage, m.Key, support); err != nil {
			t.Fatal(err)
		}
		h.drain()
		h.status(notify.StatusSkipped) // asked again, though a person released it
	})
}

func TestARevalidatorThatAnswersTooLittleIsAFailure(t *testing.T) {
	visitsInMemory(t, func(h *host) {
		h.Register(notify.Type{Name: "mute", Renderer: visitTemplate, Revalidator: mute{}})
		job := visit("7", person("sam"))
		job.Type = "mute"
		h.dispatch(job)
		h.drain()
		if m := h.status(notify.StatusRetryReady); m.ReasonCode != reasons.RevalidationFailed || m.Calls != 0 {
			t.Errorf("message is %+v", m)
		}
	})
}

type mute struct{}

func (mute) Revalidate(context.Context, []notify.Job) ([]gate.Verdict, error) { return nil, nil }
