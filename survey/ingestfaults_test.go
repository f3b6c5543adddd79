package survey_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/survey"
)

// visits are so many events, each different from the others.
func visits(from, n int) survey.Batch {
	var payloads []string
	for i := range n {
		payloads = append(payloads, fmt.Sprintf(`{"jobType":"GR","dealerId":"1","wip":%d}`, from+i))
	}
	return batch(payloads...)
}

// statements is how many of them f takes.
func (f *faulty) statements(do func()) int64 {
	before := f.verbs.Load()
	do()
	return f.verbs.Load() - before
}

// Items cost no statements of their own, new or known ones, up to what one
// transaction takes.
func TestTheStatementsOfABatchDoNotGrowWithItsItems(t *testing.T) {
	t.Parallel()
	eachHost(t, nil, func(h *host) {
		h.publish(csiGR)
		f := newFaulty(h.store, 0)
		h.survey = survey.New(f.Spy, nil, nil)
		h.take(visits(0, 1)) // the link key
		var created, skipped [2]int64
		for i, n := range []int{20, 499} {
			b := visits(1000*(i+1), n)
			created[i] = f.statements(func() { h.take(b) })
			skipped[i] = f.statements(func() { h.take(b) })
		}
		// Triggers, versions, insert and look-up; Ensure may begin with either of the
		// last two, by what it found before in any test of this process.
		for i := range created {
			if created[i] > 5 || skipped[i] > 5 {
				h.t.Errorf("batch %d: %d statements for new events, %d for known ones", i, created[i], skipped[i])
			}
		}
	})
}

// More than one transaction takes, and more rows than one statement does.
func TestABatchOfAnySize(t *testing.T) {
	t.Parallel()
	eachHost(t, nil, func(h *host) {
		h.publish(twoTriggers(t, "trigger"))
		b := visits(0, 1203)
		b.Items = append(b.Items, visits(0, 3).Items...)
		report := h.take(b)
		if report.Created != 1203 || report.Skipped != 3 || len(report.Items) != 1206 {
			h.t.Errorf("%d created, %d skipped of %d", report.Created, report.Skipped, len(report.Items))
		}
		seen := map[string]bool{}
		for _, item := range report.Items[:1203] {
			for _, i := range item.Instances {
				seen[i.PublicID] = true
			}
		}
		if len(seen) != 2406 {
			h.t.Errorf("%d ids, want 2406", len(seen))
		}
		if got, want := report.Items[1205].Instances[1].PublicID, report.Items[2].Instances[1].PublicID; got != want {
			h.t.Errorf("a repeat has the id %s, want %s", got, want)
		}
	})
}

// One event, told at once by many: one of them has made the instance.
func TestI2_ManyTellOfOneEventAtOnce(t *testing.T) {
	t.Parallel()
	eachHost(t, nil, func(h *host) {
		h.publish(csiGR)
		const many = 16
		reports := make([]survey.IngestReport, many)
		errs := make([]error, many)
		var calls sync.WaitGroup
		for i := range many {
			process := h.service(nil) // with a key ring of its own
			calls.Go(func() { reports[i], errs[i] = process.Ingest(h.t.Context(), batch(visit, visit)) })
		}
		calls.Wait()
		ids, created := map[string]bool{}, 0
		for i, r := range reports {
			if errs[i] != nil {
				h.t.Fatal(errs[i])
			}
			created += r.Created
			ids[r.Items[0].Instances[0].PublicID], ids[r.Items[1].Instances[0].PublicID] = true, true
		}
		if created != 1 || len(ids) != 1 || len(h.all()) != 1 {
			h.t.Errorf("%d have made it, ids %v, %d instances", created, ids, len(h.all()))
		}
	})
}

// Wherever a process dies, the batch is told again and is whole then, and nothing
// is there twice.
func TestABatchIsRepeatedAfterAnyCrash(t *testing.T) {
	t.Parallel()
	eachHost(t, nil, func(h *host) {
		h.publish(twoTriggers(t, "trigger"))
		crashes := 0
		for n := int64(1); ; n++ {
			f := newFaulty(h.store, n)
			b := visits(100*int(n), 3)
			first, err := survey.New(f.Spy, nil, nil).Ingest(h.t.Context(), b)
			if err == nil {
				if first.Created != 3 {
					h.t.Errorf("without a crash: %+v", first)
				}
				break
			}
			crashes++
			if !errors.Is(err, errCrash) {
				h.t.Fatal(err)
			}
			if again := h.take(b); again.Created != 3 {
				h.t.Errorf("after a crash at statement %d: %+v", n, again)
			}
		}
		if crashes < 4 {
			h.t.Errorf("died %d times", crashes)
		}
		f := newFaulty(h.store, 0)
		process := survey.New(f.Spy, nil, nil)
		if _, err := process.Ingest(h.t.Context(), visits(0, 1)); err != nil {
			h.t.Fatal(err)
		}
		f.commit = true
		b := visits(10, 3)
		if _, err := process.Ingest(h.t.Context(), b); !errors.Is(err, storage.ErrOutcomeUnknown) {
			h.t.Errorf("%v, want an unknown outcome", err)
		}
		if again := h.take(b); again.Skipped != 3 || again.Items[0].Instances[0].PublicID == "" {
			h.t.Errorf("after a lost reply: %+v", again)
		}
	})
}

// In a host's transaction: what the host rolls back has not been told, the link
// key that was made for it included.
func TestIngestIsOfTheHostsTransaction(t *testing.T) {
	t.Parallel()
	eachHost(t, nil, func(h *host) {
		h.publish(csiGR)
		rollback := errors.New("the host changed its mind")
		tell := func(end error) (r survey.IngestReport, link string) {
			err := h.store.InTx(h.t.Context(), func(tx storage.Tx) (err error) {
				bound := h.survey.WithTx(tx)
				if r, err = bound.Ingest(h.t.Context(), batch(visit)); err != nil {
					return err
				}
				if link, err = bound.Link(h.t.Context(), "", r.Items[0].Instances[0].PublicID); err != nil {
					return err
				}
				return end
			})
			if !errors.Is(err, end) {
				h.t.Fatal(err)
			}
			return r, link
		}
		undone, _ := tell(rollback)
		if n := len(h.all()); undone.Created != 1 || n != 0 {
			h.t.Errorf("%+v, %d instances after the roll-back", undone, n)
		}
		done, link := tell(nil)
		elsewhere, err := h.service(nil).Link(h.t.Context(), "", done.Items[0].Instances[0].PublicID)
		if done.Created != 1 || err != nil || elsewhere != link {
			h.t.Errorf("%+v %s, in another process %s, %v", done, link, elsewhere, err)
		}
		if again := h.ingest(); again.Skipped != 1 {
			h.t.Errorf("%+v", again)
		}
	})
}

// Tenants have surveys, events and instances of their own.
func TestI28_TenantsDoNotSeeEachOthersEvents(t *testing.T) {
	t.Parallel()
	eachHost(t, nil, func(h *host) {
		ctx := h.t.Context()
		for _, scope := range []survey.Scope{"north", "south"} {
			if _, err := h.survey.Publish(ctx, survey.Version{Scope: scope, SurveyID: 4523, Name: "CSI", IntegrationID: "csi-gr", Definition: []byte(csiGR)}); err != nil {
				h.t.Fatal(err)
			}
		}
		b := batch(visit)
		got := map[survey.Scope]survey.IngestReport{}
		for _, scope := range []survey.Scope{"north", "south", "", "north"} {
			b.Scope = scope
			got[scope] = h.take(b)
		}
		if got["south"].Created != 1 || got[""].NoMatch != 1 || got["north"].Skipped != 1 {
			h.t.Errorf("%+v", got)
		}
		id := got["north"].Items[0].Instances[0].PublicID
		for name, err := range map[string]error{
			"Instance": failureOf(h.survey.Support().Instance(ctx, "south", id)),
			"Link":     last(h.survey.Link(ctx, "south", id)),
			"Delete":   h.survey.Support().Delete(ctx, "south", id, support, nil),
		} {
			if !errors.Is(err, storage.ErrNotFound) {
				h.t.Errorf("%s of another tenant's: %v", name, err)
			}
		}
		if err := h.erase("south", "cust-123"); err != nil {
			h.t.Error(err)
		}
		north, _, err := h.survey.Support().Instance(ctx, "north", id)
		if diff := cmp.Diff("cust-123", north.CustomerRef); err != nil || diff != "" {
			h.t.Error(err, diff)
		}
	})
}

func failureOf[A, B any](_ A, _ B, err error) error { return err }

func last[A any](_ A, err error) error { return err }

var support = survey.By{Actor: "kim", Reason: "a call of the customer"}

// link is the address that support would give to the customer.
func (h *host) link(publicID string) string {
	h.t.Helper()
	got, err := h.survey.Link(context.Background(), "", publicID)
	if err != nil {
		h.t.Fatal(err)
	}
	return got
}

// What makes no batch is an error, and nothing is written.
func TestABatchThatMakesNoSense(t *testing.T) {
	t.Parallel()
	eachHost(t, nil, func(h *host) {
		h.publish(csiGR)
		for want, change := range map[string]func(*survey.Batch){
			"survey: Ingest: storage: survey_trigger.scope: ": func(b *survey.Batch) { b.Scope = "\x00any" },
			"survey: Ingest: the event kind has to have":      func(b *survey.Batch) { b.EventKind = "" },
			"survey: Ingest: the event kind has to have 1":    func(b *survey.Batch) { b.EventKind = "a\x1f" },
			"survey: Ingest: the event kind has to have 1 to": func(b *survey.Batch) { b.EventKind = strings.Repeat("a", 201) },
		} {
			b := batch(visit)
			change(&b)
			if _, err := h.survey.Ingest(h.t.Context(), b); err == nil || !strings.HasPrefix(err.Error(), want) {
				h.t.Errorf("%v, want %q", err, want)
			}
		}
		if n := len(h.all()); n != 0 {
			h.t.Errorf("%d instances", n)
		}
	})
}

// Reasons are for logs and answers: they name paths and hold no values.
func TestI29_ReasonsHoldNoValues(t *testing.T) {
	t.Parallel()
	const canary = "sam@example.com"
	eachHost(t, nil, func(h *host) {
		h.publish(csiGR)
		b := batch(`{"jobType":"GR","wip":["`+canary+`"]}`, `{"jobType":"GR","wip":{"a":"`+canary+`"}}`, `{"jobType":"GR","wip":"`+canary+`\n"}`, `{"a":"`+canary+`"`, visit)
		b.Items[4].Recipient.Address = canary + "\n"
		report := h.take(b)
		text, err := json.Marshal(report)
		if err != nil || report.Failed != 5 || strings.Contains(string(text), canary) {
			h.t.Errorf("%v %s", err, text)
		}
	})
}
