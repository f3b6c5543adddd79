package work

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/benbjohnson/clock"

	"github.com/belfry-go/belfry/storage/driver"
)

// patience is how long a claim ahead waits for a look-back; after that both go on
// beside each other.
const patience = 50 * time.Millisecond

// recent is how far back a line begins while nobody knows what is due before, and how
// long the rows that another process inserts may take to become visible.
const recent = 10 * time.Second

// lookBack paces the claims of a lane that start at the beginning of the due order,
// behind the forward cursor. Such a claim finds rows that became due in the past and
// leases that ran out, but has to walk over everything that is held or served by
// others, so it may take at most a twentieth of the time.
type lookBack struct {
	clock  clock.Clock
	last   time.Time
	took   time.Duration
	hinted bool // this process saved a row at or before the cursor
}

func (l *lookBack) pause() time.Duration { return 20 * l.took }

func (l *lookBack) since() time.Duration {
	if l.last.IsZero() {
		return 1<<63 - 1
	}
	return l.clock.Since(l.last)
}

// allowed says whether a short forward claim may be followed by a look-back.
func (l *lookBack) allowed() bool { return l.since() >= l.pause() }

// overdue says whether a look-back comes first although there is enough ahead.
func (l *lookBack) overdue() bool {
	if l.hinted {
		return l.allowed()
	}
	return l.since() >= l.bound()
}

// bound is how long a row behind the cursor waits at most.
func (l *lookBack) bound() time.Duration { return max(time.Second, l.pause()) }

// quick says that the next one will not be waited for in vain.
func (l *lookBack) quick() bool { return !l.last.IsZero() && l.took <= patience }

// measured notes a look-back.
func (l *lookBack) measured(from, to time.Time) { l.last, l.took = to, to.Sub(from) }

// look is a look-back under way.
type look[R any] struct {
	asked  []driver.LaneClaim
	beside atomic.Bool // nobody waits for it
	ended  chan struct{}

	mu sync.Mutex
	looked[R]
}

// breath lets a long look rest for three times as long as it has worked: those beside it
// have most of a processor back.
type breath struct {
	clock clock.Clock
	since time.Time // it works, or began to
	spent time.Duration
}

func (b *breath) rest(ctx context.Context) {
	from := b.clock.Now()
	over := b.clock.Timer(3 * from.Sub(b.since))
	defer over.Stop()
	select {
	case <-ctx.Done():
	case <-over.C:
	}
	b.since = b.clock.Now()
	b.spent += b.since.Sub(from)
}

// looked is what a look-back has brought and nobody has taken in yet.
type looked[R any] struct {
	rows []*R
	took map[int16][2]time.Time // from and to, of each lane that was looked at
	err  error
}

// add notes what came of some lanes.
func (k *look[R]) add(asked []driver.LaneClaim, rows []*R, from, to time.Time, err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.rows, k.err = append(k.rows, rows...), err
	if k.took == nil {
		k.took = map[int16][2]time.Time{}
	}
	for _, a := range asked {
		if err == nil {
			k.took[a.Lane] = [2]time.Time{from, to}
		}
	}
}

// take empties it.
func (k *look[R]) take() (got looked[R]) {
	k.mu.Lock()
	defer k.mu.Unlock()
	got, k.looked = k.looked, got
	return got
}

// looking are the lanes of a line with room that may be looked at from the start.
func (r *runner[R, A]) looking(l *line, may func(*lane) bool) (of lanes) {
	if r.looks[l] != nil {
		return nil
	}
	for _, lane := range l.open {
		if may(lane) {
			of = append(of, lane)
		}
	}
	return of
}

// hinted is when a line may be looked at from the start for a row that this process
// saved there; zero: there is none, or a look is under way, which wakes the runner.
func (r *runner[R, A]) hinted(l *line) (at time.Time) {
	for _, lane := range r.looking(l, func(lane *lane) bool { return lane.look.hinted }) {
		at = earlier(at, lane.look.last.Add(lane.look.pause()))
	}
	return at
}

// lookSlowly looks back in lanes where nobody knows how long it takes, or where it
// takes long, so that a peek need not.
func (r *runner[R, A]) lookSlowly(ctx context.Context, l *line, n int) ([]*R, error) {
	slow := r.looking(l, func(lane *lane) bool { return lane.look.allowed() && !lane.look.quick() })
	if len(slow) == 0 {
		return nil, nil
	}
	return r.lookBack(ctx, l, slow, n, false)
}

// behind looks back after a claim ahead that was short.
func (r *runner[R, A]) behind(ctx context.Context, l *line, everywhere lanes, n int, forced bool) ([]*R, error) {
	of := r.looking(l, func(lane *lane) bool { return lane.look.allowed() || slices.Contains(everywhere, lane) })
	if len(of) == 0 {
		return nil, nil
	}
	if !forced {
		n = (n + 1) / 2 // there is to be room beside it
	}
	return r.lookBack(ctx, l, of, n, forced)
}

// lookBack claims from the start of the due order. One that takes long goes on beside
// the next turns of a runner, and [runner.landed] has what it brings.
func (r *runner[R, A]) lookBack(ctx context.Context, l *line, of lanes, n int, forced bool) ([]*R, error) {
	k := &look[R]{asked: of.share(n), ended: make(chan struct{})}
	parts := [][]driver.LaneClaim{k.asked}
	claim := r.claim(l, nil)
	if !forced && slices.ContainsFunc(of, func(lane *lane) bool { return !lane.look.quick() }) {
		parts = slices.Collect(slices.Chunk(k.asked, 1)) // each at its own pace
		claim.Long = true
	}
	for _, a := range k.asked {
		of.get(a.Lane).look.hinted = false
	}
	go r.goBack(ctx, k, claim, parts)
	if !forced && !r.waited(l, k) {
		for _, lane := range of {
			if lane.at == (driver.Cursor{}) {
				lane.at.DueOn = r.now().Add(-recent)
			}
		}
		r.looks[l] = k
		l.young.begin()
		return r.takeIn(ctx, l, k)
	}
	<-k.ended
	return r.takeIn(ctx, l, k)
}

func (r *runner[R, A]) goBack(ctx context.Context, k *look[R], c driver.Claim, parts [][]driver.LaneClaim) {
	defer func() {
		close(k.ended)
		r.wake(k)
	}()
	for _, asked := range parts {
		from := r.mono.Now()
		b := &breath{clock: r.mono, since: from}
		c.Lanes, c.Rest = asked, b.rest
		rows, err := r.take(ctx, c)
		k.add(asked, rows, from.Add(b.spent), r.mono.Now(), err)
		if err != nil {
			return
		}
		r.wake(k)
	}
}

// wake tells a runner that a look-back beside its turns has brought something.
func (r *runner[R, A]) wake(k *look[R]) {
	if !k.beside.Load() {
		return
	}
	select {
	case r.looked <- struct{}{}:
	default:
	}
}

// waited reports whether a look-back of a line ended while it was waited for, which it is
// not while another line has rows to claim. It wakes the runner when one ends later.
func (r *runner[R, A]) waited(l *line, k *look[R]) bool {
	if !slices.ContainsFunc(r.lines(), func(other *line) bool { return other != l && other.hot }) {
		over := r.mono.Timer(patience)
		defer over.Stop()
		select {
		case <-k.ended:
			return true
		case <-over.C:
		}
	}
	k.beside.Store(true)
	select {
	case <-k.ended: // it may not have seen that
		return true
	default:
		return false
	}
}

// landed is what a look-back of a line has brought that goes on beside the turns.
func (r *runner[R, A]) landed(ctx context.Context, l *line) ([]*R, error) {
	k := r.looks[l]
	if k == nil {
		return nil, nil
	}
	select {
	case <-k.ended:
		delete(r.looks, l)
	default:
	}
	return r.takeIn(ctx, l, k)
}

// lastLooks waits for the look-backs that go on when a runner ends: what they bring is
// not left to its leases.
func (r *runner[R, A]) lastLooks(ctx context.Context, launch func(*line, []*R)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for l, k := range r.looks {
		<-k.ended
		if rows, _ := r.takeIn(ctx, l, k); len(rows) > 0 {
			launch(l, rows)
		}
	}
	clear(r.looks)
}

// underway is how many rows a look-back may still bring.
func (r *runner[R, A]) underway(l *line) (n int) {
	if k := r.looks[l]; k != nil {
		for _, a := range k.asked {
			n += a.Limit
		}
	}
	return n
}

// takeIn takes in what a look-back has brought so far. A lane that has a whole quota
// there is continued from there.
func (r *runner[R, A]) takeIn(ctx context.Context, l *line, k *look[R]) ([]*R, error) {
	of := k.take()
	last := map[int16]driver.Cursor{}
	got := r.count(l, of.rows, func(l *lane, c driver.Cursor) { last[l.number] = c })
	bound := time.Duration(0)
	for number, took := range of.took {
		lane := l.lanes.get(number)
		lane.look.measured(took[0], took[1])
		bound = max(bound, lane.look.bound())
		c, some := last[number]
		if some && got[number] == limitOf(k.asked, number) && c.Before(lane.at.DueOn, lane.at.ID) {
			lane.at = c
		}
	}
	if bound > 0 {
		r.tel.lookedBack(ctx, bound)
	}
	return of.rows, of.err
}

// newcomers says which rows are young, while look-backs of a line are slow: a row that
// another process makes due in the past does not wait for one.
type newcomers struct {
	pace  lookBack
	marks []mark // ascending
}

// mark is the id that the newest row had at a moment.
type mark struct {
	at time.Time
	id int64
}

// begin has a line that nobody knew to be slow wait until its turn.
func (c *newcomers) begin() {
	if len(c.marks) == 0 {
		c.pace.last = c.pace.clock.Now()
	}
}

// overlap is how many rows before the first mark are looked at too.
const overlap = 1000

// noted adds a mark, forgets those that are of no use, and returns the id above which
// rows may be that nobody has seen: a transaction may commit lower ids a little later.
func (c *newcomers) noted(now time.Time, id int64) int64 {
	if len(c.marks) == 0 {
		c.marks = append(c.marks, mark{now.Add(-recent), id - overlap})
	}
	c.marks = append(c.marks, mark{now, id})
	for len(c.marks) > 1 && now.Sub(c.marks[1].at) >= recent {
		c.marks = c.marks[1:]
	}
	if above := c.marks[0].id; above > 0 {
		return above
	}
	return -1 // all of them
}

// newcomers claims young rows of a line whose look-backs are slow, behind the cursor
// or not.
func (r *runner[R, A]) newcomers(ctx context.Context, l *line, n int) ([]*R, error) {
	slow := func(lane *lane) bool { return !lane.look.last.IsZero() && !lane.look.quick() }
	if r.looks[l] == nil && !slices.ContainsFunc(l.open, slow) {
		l.young.marks = nil
		return nil, nil
	}
	if !l.young.pace.overdue() {
		return nil, nil
	}
	from := r.mono.Now()
	defer func() { l.young.pace.measured(from, r.mono.Now()) }()
	newest, err := r.newest(ctx)
	if err != nil {
		return nil, err
	}
	claim := r.claim(l, l.open.share(n))
	claim.NewerThan = l.young.noted(from, newest)
	if claim.NewerThan == newest {
		return nil, nil
	}
	return r.take(ctx, claim)
}

// newest is the highest id.
func (r *runner[R, A]) newest(ctx context.Context) (id int64, err error) {
	err = r.store.View(ctx, func(tx driver.Reader) error {
		rows, err := r.spec.Table.Everywhere().Find(ctx, tx, driver.Query{Columns: []string{"kind"}, Desc: true, Limit: 1})
		for _, row := range rows {
			id = r.rec(row).ID
		}
		return err
	})
	r.heard(err)
	return id, err
}
