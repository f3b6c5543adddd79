package automation_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/belfry-go/belfry/automation"
	"github.com/belfry-go/belfry/automation/threshold"
	"github.com/belfry-go/belfry/notify"
)

// school is a host as the convergence tests see it, and all that it knows: its
// pupils and its reminder settings. Nothing in it is stored.
type school struct {
	scope  automation.Scope
	now    func() time.Time
	pupils map[string]pupil
	rules  map[string]rule // by setting, which is the reminder type too
	broken bool            // whom to tell cannot be found out

	valid map[string]bool  // what was wanted when it was last asked about
	met   func(key string) // called when a reminder has been found valid
}

// pupil is a source: an exam on a day, and how many lessons were taken.
type pupil struct {
	exam    int // days after the first of March
	lessons int
	gone    bool
	version int64 // zero: it has none
	changed time.Time
}

// rule is a reminder setting.
type rule struct {
	off     bool
	offsets []int
	hour    int
}

// manyLessons is a threshold that each setting has, under OncePerThreshold.
const manyLessons = 10

// wishes is the simple model: what the host wants now, under which key, and at
// farAhead is how many days exams lie behind the end of any story: on the day itself no
// reminder of a day before it is made.
const farAhead = 60

// which moment (zero for a threshold: when it is met).
func (h *school) wishes() map[string]time.Time {
	out := map[string]time.Time{}
	for setting, r := range h.rules {
		for id, p := range h.pupils {
			if r.off || p.gone {
				continue
			}
			key := "reminder:" + setting + ":pupil:" + id + ":default:"
			for _, n := range r.offsets {
				exam := time.Date(2026, 3, 1+p.exam+farAhead, 0, 0, 0, 0, time.UTC)
				out[fmt.Sprint(key, exam.Format(time.DateOnly), ":", n+farAhead)] = time.Date(2026, 3, 1+p.exam-n, r.hour, 0, 0, 0, time.UTC)
			}
			if p.lessons >= manyLessons {
				out[key+"threshold:lessons:10:OncePerThreshold:source"] = time.Time{}
			}
		}
	}
	return out
}

// asks are the candidates of a pupil under a setting, on or off.
func (h *school) asks(setting string, p pupil) (out []automation.Candidate) {
	if p.gone {
		return nil
	}
	r := h.rules[setting]
	for _, n := range r.offsets {
		out = append(out, automation.Candidate{TargetDate: date(2026, 3, 1).AddDays(p.exam + farAhead), DaysBefore: n + farAhead, SendAt: fmt.Sprintf("%02d:00", r.hour)})
	}
	return append(out, automation.Candidate{Threshold: &threshold.Threshold{
		Metric: "lessons", Value: fmt.Sprint(manyLessons), Reading: fmt.Sprint(p.lessons), Policy: threshold.OncePerThreshold,
	}})
}

// Setting is the SettingsSource.
func (h *school) Setting(_ context.Context, _ automation.Scope, id string) (automation.Setting, error) {
	return automation.Setting{Active: !h.rules[id].off}, nil
}

// lessons are the providers of one setting.
type lessons struct {
	*school
	setting string
}

func (l lessons) EventTypes() []string { return []string{"pupil-changed"} }

// Wanted answers from the event, for pupils with versions, or from what is
// true now.
func (l lessons) Wanted(_ context.Context, of []automation.Request) ([]automation.Answer, error) {
	return automation.Each(of, func(r automation.Request) (automation.Answer, error) {
		p, read := r.Event.Data.(pupil)
		if !read {
			p = l.pupils[r.Source.ID]
		}
		return automation.Answer{Version: p.version, Candidates: l.asks(l.setting, p)}, nil
	})
}

func (l lessons) Validate(_ context.Context, d automation.Due) (automation.Validity, error) {
	_, l.valid[d.Key] = l.wishes()[d.Key]
	return validIf(!l.pupils[d.Source.ID].gone), nil
}

func (l lessons) Recipients(_ context.Context, d automation.Due) ([]notify.Recipient, error) {
	l.met(d.Key)
	if l.broken {
		return nil, errBoom
	}
	return []notify.Recipient{sam}, nil
}

// Read is the scan. A threshold has no day, so each pupil has something due today.
func (l lessons) Read(_ context.Context, r automation.ScanRequest) (automation.ScanPage, error) {
	page := automation.ScanPage{Done: true}
	today := automation.Date{Year: l.now().Year(), Month: l.now().Month(), Day: l.now().Day()}
	for _, id := range slices.Sorted(maps.Keys(l.pupils)) {
		p := l.pupils[id]
		fresh := !p.changed.Before(r.ChangedSince) || !today.Before(r.NewFrom)
		if id <= r.After || p.gone || !fresh {
			continue
		}
		if len(page.Sources) == r.Limit {
			page.Done = false
			break
		}
		x := automation.ScannedSource{Source: automation.Source{"pupil", id}, Version: p.version}
		if p.version > 0 {
			x.Data = p
		}
		page.Sources, page.Next = append(page.Sources, x), id
	}
	return page, nil
}

// register makes a process serve the settings. CatchUp is longer than any story,
// so that what the host wants does not depend on when it was noticed.
func (h *school) register(s *automation.Scheduler) {
	for setting := range h.rules {
		l := lessons{h, setting}
		s.Register(automation.ReminderType{
			Name: setting, Zone: "UTC", Triggers: l, Validator: l, Recipients: l, Lateness: automation.Lateness{CatchUp: 10 * 365 * 24 * time.Hour},
			Scan: &automation.Scan{Read: l.Read, SourceType: "pupil", Window: 100, Batch: 2, Scopes: []automation.Scope{h.scope}},
		})
	}
}
