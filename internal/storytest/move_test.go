package storytest

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/benbjohnson/clock"

	"github.com/belfry-go/belfry"
	"github.com/belfry-go/belfry/internal/storetest"
	"github.com/belfry-go/belfry/internal/tables"
	"github.com/belfry-go/belfry/internal/testlevel"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/notify/channel"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/driver"
	"github.com/belfry-go/belfry/survey"
	"github.com/belfry-go/belfry/tenant"
)

// town is a host with two stores, each with its poller, and a tenant that lives in one of
// them.
type town struct {
	*world
	homes [2]program
	heard sync.Map // responses, by link and number: what subscribers heard of

	mu    sync.RWMutex // held by who writes for the tenant, and while it may not be written
	at    int          // of homes
	held  bool
	names sync.Map // who was asked for
}

const north = storage.Scope("north")

func newTown(w *world, stores ...storage.Store) *town {
	t := &town{world: w}
	for i, store := range stores {
		p := program{world: w, store: awake{store, w.clk}}
		p.reminders, p.messages = w.office(p.store, nil)
		p.messages.Register(invoices)
		p.surveys = survey.New(p.store, p.messages, &survey.Options{SurveyURL: "https://host.example/s/{token}", Logger: quiet})
		p.surveys.Subscribe(survey.SubscriberFunc("tickets", func(_ context.Context, e survey.ResponseCompleted) error {
			n, _ := t.heard.LoadOrStore(e.InstancePublicID, new(atomic.Int64))
			n.(*atomic.Int64).Add(1)
			return nil
		}))
		t.homes[i] = p
	}
	return t
}

// ask has the tenant's host ask for a person's invoice, reminder and link, where the tenant
// lives.
func (t *town) ask(ctx context.Context, name string) error {
	t.mu.RLock()
	defer t.mu.RUnlock()
	p := t.homes[t.at]
	c := expiring(name, 3)
	c.Scope = north
	if _, err := p.reminders.Ensure(ctx, c); err != nil {
		return err
	}
	job := invoice(name)
	job.Scope, job.RowKey, job.PartitionKey = north, name, name
	if _, err := p.messages.Notify(ctx, job); err != nil {
		return err
	}
	b := visit(name)
	b.Scope = north
	report, err := p.surveys.Ingest(ctx, b)
	if err != nil || report.Created+report.Skipped != 1 {
		return errors.Join(err, fmt.Errorf("%v", report))
	}
	t.names.Store(name, report.Items[0].Instances[0].PublicID)
	return nil
}

// answer has a customer answer.
func (t *town) answer(ctx context.Context, publicID string) error {
	t.mu.RLock()
	defer t.mu.RUnlock()
	s := t.homes[t.at].surveys
	link, err := s.Link(ctx, north, publicID)
	if err == nil {
		_, err = s.Submit(ctx, link[len("https://host.example/s/"):], survey.Response{Answers: []byte(`{"rate": 5}`)})
	}
	return err
}

func (t *town) hold(context.Context) error {
	if !t.held {
		t.mu.Lock()
		t.held = true
	}
	return nil
}

// switchTo lets the host write again, to the other store.
func (t *town) switchTo(to int) func(context.Context) error {
	return func(context.Context) error {
		if t.held {
			t.at, t.held = to, false
			t.mu.Unlock()
		}
		return nil
	}
}

// move moves the tenant to its other home, by a process that dies when it has begun and
// ended so many transactions; zero: it does not.
func (t *town) move(from int, dies int64) (tenant.Report, error) {
	var seen atomic.Int64
	hook := func(c storetest.Call) error {
		if (c.Verb == storetest.Begin || c.Verb == storetest.Committed) && dies > 0 && seen.Add(1) >= dies {
			return errDead
		}
		return nil
	}
	spy := func(i int) storage.Store { return &storetest.Spy{Store: t.homes[i].store, Hook: hook} }
	return tenant.Move{
		From: spy(from), To: spy(1 - from), Scope: north, By: tenant.By{Actor: "ann", Reason: "a second server"},
		Hold: t.hold, Switch: t.switchTo(1 - from),
	}.Run(t.Context())
}

// rows are those of the tenant in one of its homes, by table.
func (t *town) rows(home int) map[string]int {
	t.Helper()
	out := map[string]int{}
	err := t.homes[home].store.View(t.Context(), func(from driver.Reader) error {
		for _, s := range tables.All() {
			n, err := from.Count(t.Context(), s, driver.Within(north), nil, math.MaxInt32)
			if err != nil {
				return err
			}
			if n > 0 {
				out[s.Name] = n
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// seeded is random by BELFRY_SEED, or by a seed that is printed.
func seeded(t *testing.T) *rand.Rand {
	seed, err := strconv.ParseUint(os.Getenv("BELFRY_SEED"), 10, 64)
	if err != nil {
		seed = rand.Uint64()
	}
	t.Logf("BELFRY_SEED=%d", seed)
	return rand.New(rand.NewPCG(seed, seed))
}

// A tenant moves to another store and back while it receives and sends. The process that
// moves it is killed again and again, wherever it is. Nothing is lost, and nothing goes out twice.
func TestATenantMovesWhileItReceivesAndSends(t *testing.T) {
	t.Parallel()
	storetest.EachDatabase(t, func(t *testing.T, store storage.Store, clk *clock.Mock) {
		w := &world{T: t, store: store, clk: clk}
		town := newTown(w, store, storetest.Memory(t, clk))
		if testlevel.Has(t, testlevel.Nightly) { // a hundred thousand rows
			town.story(7000, 2000, 10)
		} else if testlevel.Runs(t, testlevel.Nightly) {
			town.story(300, 200, 10)
		} else {
			town.story(20, 20, 3)
		}
	})
}

func (t *town) story(before, during, kills int) {
	rnd := seeded(t.T)
	_, err := t.homes[0].surveys.Publish(t.Context(), survey.Version{Scope: north, SurveyID: 1, Name: "Visits", Definition: []byte(visits)})
	if err != nil {
		t.Fatal(err)
	}
	for i := range before {
		if err := t.ask(t.Context(), fmt.Sprint("before-", i)); err != nil {
			t.Fatal(err)
		}
	}
	t.homes[0].drain()
	if err := t.homes[0].messages.Contacts().Suppress(t.Context(), north, channel.Complaint, notify.By{Actor: "ann", Reason: "a call"}, notify.Destination{Method: "email", Address: "gone@example.com"}); err != nil {
		t.Fatal(err)
	}

	working, stop := context.WithCancel(t.Context())
	var workers, writers sync.WaitGroup
	for i := range t.homes {
		poller := belfry.NewPoller(t.homes[i].store, &belfry.Options{Logger: quiet}, t.homes[i].services()...)
		workers.Go(func() {
			for working.Err() == nil {
				if _, err := poller.PollOnce(t.Context(), 20); err != nil {
					t.Error(err)
				}
				<-t.homes[i].store.Clock().After(0)
			}
		})
	}
	moved := make(chan struct{})
	writers.Go(func() {
		for i := range during {
			name := fmt.Sprint("during-", i)
			if err := errors.Join(t.ask(t.Context(), name), t.ask(t.Context(), fmt.Sprint("before-", i%before))); err != nil {
				t.Error(err)
			}
			if id, ok := t.names.Load(name); ok && i%3 == 0 {
				if err := t.answer(t.Context(), id.(string)); err != nil {
					t.Error(err)
				}
			}
			if i > during/2 {
				continue
			}
			select { // half of them come after the move has begun
			case <-moved:
			case <-t.homes[0].store.Clock().After(0):
			}
		}
	})
	from := 0
	for kills > 0 {
		_, err := t.move(from, 1+int64(math.Exp(rnd.Float64()*math.Log(4000))))
		switch {
		case err == nil:
			from = 1 - from
		case errors.Is(err, errDead):
			kills--
		default:
			t.Fatal(err)
		}
	}
	close(moved)
	report, err := t.move(from, 0)
	if err != nil {
		t.Fatal(err)
	}
	from = 1 - from
	writers.Wait()
	stop()
	workers.Wait()
	t.Logf("%s: held for %v, %v", report.Phase, report.Held, report.Tables)

	t.homes[from].drain()
	t.clk.Set(time.Date(2026, 3, 3, 9, 0, 0, 0, time.UTC))
	t.homes[1-from].drain() // it has nothing to send
	t.homes[from].drain()
	t.check(from)
}

// check looks whether all people got everything once, and whether nothing is left in the
// old store.
func (t *town) check(at int) {
	if left := t.rows(1 - at); len(left) > 0 {
		t.Errorf("the old store still has %v", left)
	}
	got := map[string]int{}
	for _, mail := range t.accepted {
		if got[mail]++; got[mail] == 2 {
			t.Errorf("sent twice: %s", mail)
		}
	}
	people := 0
	t.names.Range(func(name, id any) bool {
		people++
		want := []string{"2026-03-03", "Invoice 114"}
		if n, answered := t.heard.Load(id); !answered {
			want = append(want, "How was it?")
		} else if n := n.(*atomic.Int64).Load(); n != 1 {
			t.Errorf("tickets heard %d times of the response of %s", n, name)
		}
		for _, subject := range want {
			if got[fmt.Sprintf("%s to %s@example.com", subject, name)] != 1 {
				t.Errorf("%s was not sent to %s", subject, name)
			}
		}
		return true
	})
	t.Logf("%d people, %d mails; %v", people, len(t.accepted), t.rows(at))
}
