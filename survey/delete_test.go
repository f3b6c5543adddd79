package survey_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/belfry-go/belfry/internal/audit"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/survey"
)

// actions are those of the audit of an instance.
func (h *host) actions(scope survey.Scope, key string) (all []string) {
	h.t.Helper()
	err := h.store.InTx(h.t.Context(), func(tx storage.Tx) error {
		entries, err := audit.History(h.t.Context(), tx, scope, "survey_instance", key, 10)
		all = nil
		for _, e := range entries {
			all = append(all, e.Action+" by "+e.Actor+": "+e.Reason)
		}
		return err
	})
	if err != nil {
		h.t.Fatal(err)
	}
	return all
}

// A deleted link is never sent, and its event makes no new one.
func TestADeletedInstanceIsNeverSent(t *testing.T) {
	t.Parallel()
	eachHost(t, nil, func(h *host) {
		h.publish(csiGR)
		id := h.ingest().Items[0].Instances[0].PublicID
		if err := h.survey.Support().Delete(h.t.Context(), "", id, support, nil); err != nil {
			h.t.Fatal(err)
		}
		if row := h.instance(id); !row.DueOn.IsZero() || !row.NextSendOn.IsZero() || row.Type != "" {
			h.t.Errorf("it waits for a send: %+v", row)
		}
		h.clock.Add(90 * 24 * time.Hour)
		h.drain()
		row := h.instance(id)
		if len(h.sent()) != 0 || !row.DueOn.IsZero() || !row.DeletedOn.Equal(start) || row.Status != survey.StatusPending {
			h.t.Errorf("%d sent, the row is %+v", len(h.sent()), row)
		}
		if again := h.ingest().Items[0]; again.Outcome != survey.Skipped || again.Instances[0].PublicID != id {
			h.t.Errorf("told again: %+v", again)
		}
		if _, err := h.survey.Link(h.t.Context(), "", id); !errors.Is(err, storage.ErrNotFound) {
			h.t.Errorf("its link: %v", err)
		}
		if diff := cmp.Diff([]string{"Delete by kim: a call of the customer"}, h.actions("", row.Key)); diff != "" {
			h.t.Error(diff)
		}
	})
}

// A host may let the event make a new instance, at once or later; the old one
// stays for whoever has its id.
//
//spec:t-028
func TestADeletedInstanceMayBeForgotten(t *testing.T) {
	t.Parallel()
	eachHost(t, nil, func(h *host) {
		h.publish(csiGR)
		forget := &survey.DeleteOptions{Forget: true}
		first := h.ingest().Items[0].Instances[0].PublicID
		if err := h.survey.Support().Delete(h.t.Context(), "", first, support, nil); err != nil {
			h.t.Fatal(err)
		}
		if err := h.survey.Support().Delete(h.t.Context(), "", first, support, forget); err != nil {
			h.t.Fatal(err)
		}
		second := h.ingest().Items[0]
		if err := h.survey.Support().Delete(h.t.Context(), "", second.Instances[0].PublicID, support, forget); err != nil {
			h.t.Fatal(err)
		}
		third := h.ingest().Items[0]
		if second.Outcome != survey.Created || third.Outcome != survey.Created {
			h.t.Errorf("%+v, %+v", second, third)
		}
		h.drain()
		if sent := h.sent(); len(sent) != 1 {
			h.t.Errorf("%d links sent, want that of the last", len(sent))
		}
		old := h.instance(first)
		if old.DeletedOn.IsZero() || !old.DueOn.IsZero() || old.Key == h.instance(third.Instances[0].PublicID).Key {
			h.t.Errorf("%+v", old)
		}
		want := []string{"Delete by kim: a call of the customer", "DeleteAndForget by kim: a call of the customer", "DeleteAndForget by kim: a call of the customer"}
		if diff := cmp.Diff(want, h.actions("", h.instance(third.Instances[0].PublicID).Key)); diff != "" {
			h.t.Error(diff)
		}
	})
}

func TestADeletionThatMakesNoSense(t *testing.T) {
	t.Parallel()
	eachHost(t, nil, func(h *host) {
		h.publish(csiGR)
		ctx, id := h.t.Context(), h.ingest().Items[0].Instances[0].PublicID
		if err := h.survey.Support().Delete(ctx, "", id, survey.By{Actor: "kim"}, nil); err == nil {
			h.t.Error("no reason was given")
		}
		if err := h.survey.Support().Delete(ctx, "", "unknown", support, nil); !errors.Is(err, storage.ErrNotFound) {
			h.t.Errorf("an unknown one: %v", err)
		}
		for i, want := range []error{nil, survey.ErrActionRefused} {
			if err := h.survey.Support().Delete(ctx, "", id, support, nil); !errors.Is(err, want) {
				h.t.Errorf("deletion %d: %v", i, err)
			}
		}
		for i, want := range []error{nil, survey.ErrActionRefused} {
			if err := h.survey.Support().Delete(ctx, "", id, support, &survey.DeleteOptions{Forget: true}); !errors.Is(err, want) {
				h.t.Errorf("forgetting %d: %v", i, err)
			}
		}
	})
}

// The channel has the link while somebody deletes it: that send goes out, and
// nothing after it.
func TestADeletionWhileTheLinkIsSent(t *testing.T) {
	t.Parallel()
	for _, o := range []*survey.DeleteOptions{nil, {Forget: true}} {
		t.Run(fmt.Sprintf("%+v", o), func(t *testing.T) {
			t.Parallel()
			eachHost(t, nil, func(h *host) {
				h.publish(csiGR)
				id := h.ingest().Items[0].Instances[0].PublicID
				h.channel(func(ctx context.Context, m notify.Message) error {
					return h.survey.Support().Delete(ctx, "", m.ID, support, o)
				})
				for range 5 {
					h.drain()
					h.clock.Add(24 * time.Hour)
				}
				row := h.instance(id)
				if len(h.sent()) != 1 || row.DeletedOn.IsZero() || !row.DueOn.IsZero() {
					h.t.Errorf("%d sends, %+v", len(h.sent()), row)
				}
			})
		})
	}
}

// channel does something during each send.
func (h *host) channel(during func(context.Context, notify.Message) error) {
	h.survey = survey.New(h.store, &survey.Options{SurveyURL: "https://host.example/s/{token}?i={publicId}"},
		notify.ChannelFunc("memory:default", func(ctx context.Context, m notify.Message) (notify.Receipt, error) {
			if err := during(ctx, m); err != nil {
				h.t.Error(err)
			}
			return h.send(ctx, m)
		}))
	h.poller = newPoller(h)
}
