package notify_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/belfry-go/belfry/internal/storetest"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/storage"
)

//spec:f-038
func TestAnInboxIsListedNewestFirstPageByPage(t *testing.T) {
	visits(t, func(t *testing.T, h *host) {
		for i := range 5 {
			j := visit(fmt.Sprint(i), inbox("sam"), inbox("sa"))
			j.SourceOn = storetest.Start.Add(time.Duration(i) * time.Hour)
			h.dispatch(j)
		}
		h.drain()
		var got []string
		for p := (storage.Page{Limit: 2}); ; {
			rows, next, err := h.Inbox(t.Context(), "tenant", "user:sam", p)
			if err != nil {
				t.Fatal(err)
			}
			for _, m := range rows {
				got = append(got, m.Content.Subject[:1])
			}
			if p.After = next; next == "" {
				break
			}
		}
		h.same("messages", []string{"4", "3", "2", "1", "0"}, got)
	})
}

//spec:n-013 n-033
func TestATraceFollowsAJob(t *testing.T) {
	visits(t, func(t *testing.T, h *host) {
		job := visit("7", person("sam"), inbox("kim"), inbox("kim"))
		h.dispatch(job, visit("8", person("sam")))
		h.drain()
		got, err := h.Trace(t.Context(), "tenant", job.Coordinates())
		if err != nil || got.Job == nil {
			t.Fatal(got, err)
		}
		if got.Job.SourceKey != "visit:7" || len(got.Schedules) != 1 || len(got.UserMessages) != 1 || len(got.OutgoingMessages) != 1 || got.OutgoingMessages[0].PartitionKey != job.RowKey {
			t.Errorf("trace is %+v", got)
		}
		none, err := h.Trace(t.Context(), "tenant", notify.Coordinates{"no", "job"})
		if err != nil || none.Job != nil {
			t.Errorf("%+v, %v", none, err)
		}
	})
}

// I-28: rows of another scope look absent, and no listing goes across scopes.
func TestI28_AListingShowsOneScopeOnly(t *testing.T) {
	visits(t, func(t *testing.T, h *host) {
		job := visit("7", person("sam"), inbox("sam"))
		h.dispatch(job)
		h.drain()
		ctx := t.Context()
		for _, scope := range []notify.Scope{"", "tenan", "another"} {
			inbox, _, err1 := h.Inbox(ctx, scope, "user:sam", storage.Page{})
			messages, _, err2 := h.Support().Messages(ctx, scope, job.RowKey, storage.Page{})
			every, _, err3 := h.Support().AllMessages(ctx, scope, storage.Page{})
			trace, err4 := h.Trace(ctx, scope, job.Coordinates())
			if err := errors.Join(err1, err2, err3, err4); err != nil {
				t.Fatal(err)
			}
			if n := len(inbox) + len(messages) + len(every); n != 0 || trace.Job != nil {
				t.Errorf("scope %q sees %d rows of another", scope, n)
			}
		}
		_, _, err1 := h.Support().AllMessages(ctx, "\x00any", storage.Page{})
		_, err2 := h.Trace(ctx, "\x00any", job.Coordinates())
		if err1 == nil || err2 == nil {
			t.Error("a listing of a scope that no row can have")
		}
		if all, _, err := h.Support().AllMessages(ctx, "tenant", storage.Page{}); err != nil || len(all) != 1 {
			t.Errorf("%v, %v", all, err)
		}
	})
}
