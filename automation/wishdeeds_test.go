package automation_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/belfry-go/belfry/automation"
	"github.com/belfry-go/belfry/internal/work"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/driver"
)

// step is one thing that happens in a story. Whoever adds a deed adds it here.
func (w *wishWorld) step() {
	deeds := []func(){
		w.wait, w.wait, w.wait, w.wait, w.wait, w.outage, w.outage,
		w.move, w.move, w.move, w.leave, w.unit,
		w.offsets, w.offsets, w.hour, w.recur, w.toggle, w.zone,
		w.late, w.late, w.reconcile, w.restart, w.clear,
	}
	if w.stage != nil {
		deeds = append(deeds, w.handOver, w.handOver, w.handOver)
	}
	deeds[w.dice.IntN(len(deeds))]()
}

func (w *wishWorld) anyone() string { return pick(w, "ada", "bob", "eve") }

func (w *wishWorld) anyType() (string, *wishRule) {
	typ := pick(w, w.exams, w.buses)
	return typ, w.rules[typ]
}

// wait lets some hours pass, and everything runs.
func (w *wishWorld) wait() {
	w.clk.Add(time.Duration(1+w.dice.IntN(40)) * 30 * time.Minute)
	w.run()
}

// outage lets days pass, in which nothing runs.
func (w *wishWorld) outage() {
	w.clk.Add(time.Duration(1+w.dice.IntN(5*24)) * time.Hour)
	w.say("an outage")
}

// run does all that is due. The old scheduler comes first, and again when all is done.
func (w *wishWorld) run() {
	w.runOld()
	runner := passOf(w.s, "automation").Runner(work.Options{Logger: quiet, Concurrency: 1})
	for {
		report, err := runner.Poll(w.ctx, 100)
		if w.must(err); err != nil || report.Claimed == 0 {
			break
		}
	}
	w.runOld()
	w.series(w.clk.Now(), func(key string) string { return w.rules[strings.Split(key, ":")[1]].cadence })
	w.work(w.clk.Now())
	w.say("run: sent %d", len(w.sent))
}

func (w *wishWorld) move() {
	id := w.anyone()
	p := w.pupil[id]
	p.at = p.at.Add(time.Duration(w.dice.IntN(400)-150) * 30 * time.Minute)
	w.say("%s moves to %s", id, p.at.Format("01-02T15:04"))
	w.changed(id)
}

func (w *wishWorld) leave() {
	id := w.anyone()
	w.pupil[id].gone = !w.pupil[id].gone
	w.say("%s is gone: %t", id, w.pupil[id].gone)
	w.changed(id)
}

func (w *wishWorld) unit() {
	id := w.anyone()
	w.pupil[id].unit = pick(w, "dublin", "cork")
	w.say("%s is in %s", id, w.pupil[id].unit)
	w.changed(id)
}

func (w *wishWorld) offsets() {
	typ, r := w.anyType()
	r.days, r.before = nil, nil
	for _, d := range []int{14, 3, 1, 0} {
		if w.dice.IntN(2) == 0 {
			r.days = append(r.days, d)
		}
	}
	for _, b := range []time.Duration{24 * time.Hour, 2 * time.Hour, -time.Hour} {
		if w.dice.IntN(2) == 0 {
			r.before = append(r.before, b)
		}
	}
	w.say("%s: %v days, %v before", typ, r.days, r.before)
	w.saved(typ)
}

func (w *wishWorld) hour() {
	typ, r := w.anyType()
	r.hour = 7 + w.dice.IntN(12)
	w.say("%s: at %d", typ, r.hour)
	w.saved(typ)
}

// recur changes a cadence.
func (w *wishWorld) recur() {
	typ, r := w.anyType()
	if w.stage != nil {
		return // a series in shadow goes on by itself, which has stories of its own
	}
	r.cadence = pick(w, "", "MON", "MON,THU", "*")
	w.say("%s: recurs on %q", typ, r.cadence)
	w.saved(typ)
}

func (w *wishWorld) toggle() {
	typ, r := w.anyType()
	r.off = !r.off
	w.say("%s: off %t", typ, r.off)
	w.saved(typ)
}

func (w *wishWorld) zone() {
	unit := pick(w, "dublin", "cork")
	w.zones[unit] = pick(w, "Europe/Dublin", "America/New_York", "Asia/Tokyo", "UTC")
	w.say("%s is in %s", unit, w.zones[unit])
	w.saved(w.exams)
	w.saved(w.buses)
}

// late says what was true before the last change. Nobody listens.
func (w *wishWorld) late() {
	id := w.anyone()
	p := w.pupil[id]
	if len(w.told) == 0 || p.version < 2 {
		return
	}
	about := w.about(w.exams, id)
	about.Version = p.version - 1
	got, err := about.by(w.s).Set(w.ctx, about.About, automation.Candidate{TargetDate: date(2026, 12, 24), SendAt: "09:00", Zone: "UTC"})
	if w.must(unlessStale(got, err)); got.Outcome != automation.EventStale {
		w.must(fmt.Errorf("said late: %+v", got))
	}
	e := pick(w, w.told...)
	if w.scanned {
		return // a scan that finds nothing to do keeps no version
	}
	old := e.Version > 0 && e.Version < w.pupil[e.Source.ID].version
	got, err = w.s.HandleEvent(w.ctx, e)
	if w.must(unlessStale(got, err)); (got.Outcome == automation.EventStale) != old {
		w.must(fmt.Errorf("an event of version %d: %+v", e.Version, got))
	}
	if !old {
		w.asked(w.buses, e.Source.ID)
	}
	w.say("late: %s %d", e.Source.ID, e.Version)
}

// reconcile finds nothing to do but what time has done, since all was told.
func (w *wishWorld) reconcile() {
	_, err := w.s.Maintenance().Reconcile(w.ctx, w.scope, w.buses, &automation.ReconcileOptions{FromStart: true})
	w.must(err)
	w.askedOfScan()
	w.say("reconciled")
}

// clear says that a pupil wants nothing, until somebody says otherwise.
func (w *wishWorld) clear() {
	id := w.anyone()
	about := w.about(w.exams, id)
	_, err := about.by(w.s).Clear(w.ctx, about.About)
	w.must(err)
	w.ask(w.clk.Now(), prefixOf(w.exams, id)+":", nil)
	w.say("nothing for %s", id)
}

// restart is another process on the same store.
func (w *wishWorld) restart() {
	w.s = automation.New(w.store, tally{notify.New(w.store, nil), w}, &automation.Options{
		Logger: quiet, Settings: w,
		Zone: func(_ context.Context, _ automation.Scope, unit string) (string, error) { return w.zones[unit], nil },
	})
	for _, typ := range []string{w.exams, w.buses} {
		t := automation.ReminderType{Name: typ, Recipients: automation.RecipientFunc(toSam), Lateness: w.lateness, Guarded: w.stage != nil}
		if typ == w.buses {
			t.Triggers = wishProvider{w}
			t.Scan = &automation.Scan{Read: w.scan, SourceType: "pupil", Window: 100, Scopes: []automation.Scope{w.scope}}
		}
		w.s.Register(t)
	}
}

// tally counts what is dispatched.
type tally struct {
	*notify.Notifier
	w *wishWorld
}

func (t tally) EnsureNotificationJob(ctx context.Context, tx storage.Tx, jobs ...notify.Job) ([]notify.Ensured, error) {
	for _, j := range jobs {
		t.w.out[j.SourceKey]++
	}
	return t.Notifier.EnsureNotificationJob(ctx, tx, jobs...)
}

// Setting is the SettingsSource.
func (w *wishWorld) Setting(_ context.Context, _ automation.Scope, id string) (automation.Setting, error) {
	return automation.Setting{Active: !w.rules[id].off}, nil
}

// wishProvider speaks for buses, by what is true now.
type wishProvider struct{ *wishWorld }

func (wishProvider) EventTypes() []string { return []string{"pupil-changed"} }

func (p wishProvider) Wanted(_ context.Context, of []automation.Request) ([]automation.Answer, error) {
	return wants(of, func(r automation.Request) []automation.Candidate { return p.candidates(p.buses, r.Source.ID) })
}

func (w *wishWorld) scan(_ context.Context, _ automation.ScanRequest) (automation.ScanPage, error) {
	page := automation.ScanPage{Done: true}
	for _, id := range slices.Sorted(maps.Keys(w.pupil)) {
		if p := w.pupil[id]; !p.gone {
			page.Sources = append(page.Sources, automation.ScannedSource{Source: automation.Source{"pupil", id}, Version: p.version})
		}
	}
	return page, nil
}

// changed is a change of a pupil that is told.
func (w *wishWorld) changed(id string) {
	if w.pupil[id].version > 0 {
		w.pupil[id].version++
	}
	w.tell(w.exams, id)
	w.tell(w.buses, id)
}

// saved tells of a setting that has changed: about each source, or by a re-plan, which
// asks the provider about all that the scan has.
func (w *wishWorld) saved(typ string) {
	if typ != w.buses || w.dice.IntN(2) == 0 {
		w.tellAll(typ)
		return
	}
	w.must(w.store.InTx(w.ctx, func(tx storage.Tx) error {
		return automation.MarkReplan(w.ctx, tx, automation.Replan{Scope: w.scope, Type: typ})
	}))
	runner := passOf(w.s, "automation.reconcile").Runner(work.Options{Logger: quiet, Concurrency: 1})
	for {
		report, err := runner.Poll(w.ctx, 100)
		if w.must(err); err != nil || report.Claimed == 0 {
			break
		}
	}
	w.say("re-planned")
	w.askedOfScan()
}

// askedOfScan tells the model what a scan has found.
func (w *wishWorld) askedOfScan() {
	for id, p := range w.pupil {
		if !p.gone {
			w.asked(w.buses, id)
		}
	}
}

func (w *wishWorld) tellAll(types ...string) {
	for _, typ := range types {
		for _, id := range slices.Sorted(maps.Keys(w.pupil)) {
			w.tell(typ, id)
		}
	}
}

func (w *wishWorld) about(typ, id string) spoken {
	return spoken{automation.About{ID: id, SourceType: "pupil", Version: w.pupil[id].version}, w.scope, typ}
}

// tell says what a pupil wants now of a type, in the type's way.
func (w *wishWorld) tell(typ, id string) {
	about := w.about(typ, id)
	var err error
	if typ == w.exams {
		_, err = about.by(w.s).Set(w.ctx, about.About, w.candidates(typ, id)...)
	} else {
		e := automation.Event{Scope: w.scope, ID: "e", Type: "pupil-changed", Source: automation.Source{"pupil", id}, Version: about.Version}
		w.told = append(w.told, e)
		if !w.scanned || w.pupil[id].gone { // else a scan will find it
			_, err = w.s.HandleEvent(w.ctx, e)
		}
	}
	w.must(err)
	w.asked(typ, id)
}

// asked tells the model.
func (w *wishWorld) asked(typ, id string) {
	w.ask(w.clk.Now(), prefixOf(typ, id)+":", w.wanted(typ, id))
}

func prefixOf(typ, id string) string { return "reminder:" + typ + ":pupil:" + id + ":default" }

// candidates are what the host says.
func (w *wishWorld) candidates(typ, id string) (out []automation.Candidate) {
	r, p := w.rules[typ], w.pupil[id]
	if p.gone {
		return nil
	}
	add := func(c automation.Candidate) {
		c.BusinessUnit, c.Person = p.unit, "parent of "+id
		out = append(out, c)
	}
	for _, n := range r.days {
		add(automation.Candidate{TargetDate: date(p.at.Year(), p.at.Month(), p.at.Day()), DaysBefore: n, SendAt: fmt.Sprintf("%02d:00", r.hour)})
	}
	for _, b := range r.before {
		add(automation.Candidate{At: p.at, Before: b})
	}
	if r.cadence != "" {
		add(automation.Candidate{Zone: "UTC", Recurrence: &automation.Recurrence{Cron: "0 9 * * " + r.cadence}})
	}
	return out
}

// wanted is the same, as the model has it: by key, the moment.
func (w *wishWorld) wanted(typ, id string) map[string]time.Time {
	out := map[string]time.Time{}
	r, p, prefix := w.rules[typ], w.pupil[id], prefixOf(typ, id)
	if r.off || p.gone {
		return out
	}
	zone, err := time.LoadLocation(w.zones[p.unit])
	w.must(err)
	for _, n := range r.days {
		key := fmt.Sprint(prefix, ":", p.at.Format(time.DateOnly), ":", n)
		if n > 0 {
			w.untrue[key] = time.Date(p.at.Year(), p.at.Month(), p.at.Day(), 0, 0, 0, 0, zone).UTC()
		}
		out[key] = time.Date(p.at.Year(), p.at.Month(), p.at.Day()-n, r.hour, 0, 0, 0, zone).UTC()
	}
	for _, b := range r.before {
		text := map[time.Duration]string{24 * time.Hour: "24h", 2 * time.Hour: "2h", -time.Hour: "-1h"}[b]
		key := prefix + ":instant:" + p.at.Format("2006-01-02T15:04:05Z") + ":" + text
		if b > 0 {
			w.untrue[key] = p.at
		}
		out[key] = p.at.Add(-b)
	}
	if r.cadence != "" {
		next := w.nextOf(prefix, r.cadence)
		out[occurrenceKey(prefix, next)] = next
	}
	return out
}

// nextOf is the current occurrence of a series: that which is open, if the cadence comes
// to it or it is due, else the first one ahead.
func (w *wishWorld) nextOf(prefix, cadence string) time.Time {
	for key, on := range w.open {
		if recursIn(key) && strings.HasPrefix(key, prefix+":") && (w.inForce[prefix] == cadence || !on.After(w.clk.Now())) {
			w.inForce[prefix] = cadence
			return on
		}
	}
	w.inForce[prefix] = cadence
	return occurrences(cadence, w.clk.Now(), w.clk.Now().AddDate(0, 0, 8))[0]
}

// rowsOf are the rows of the story.
func (w *wishWorld) rowsOf() map[string]*automation.ScheduleRow {
	out := map[string]*automation.ScheduleRow{}
	w.must(w.store.InTx(w.ctx, func(tx storage.Tx) error {
		rows, err := automation.Schedules.Find(w.ctx, tx, w.scope, driver.Query{Limit: 10000})
		for _, r := range rows {
			out[r.Key] = r
		}
		return err
	}))
	return out
}
