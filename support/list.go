package support

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/belfry-go/belfry/automation"
	"github.com/belfry-go/belfry/automation/report"
	"github.com/belfry-go/belfry/internal/audit"
	"github.com/belfry-go/belfry/internal/sweep"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/driver"
	"github.com/belfry-go/belfry/survey"
)

// List names a list of all rows of one sort of a tenant.
type List string

// The lists. Unless a comment says otherwise they are in the order of keys.
const (
	Reminders   List = "reminders"
	Messages    List = "messages"
	Campaigns   List = "campaigns"
	Links       List = "links"
	Unhappy     List = "unhappy" // responses that are not handled, the newest first
	Reports     List = "reports" // subscriptions
	Runs        List = "runs"    // of reports, the last moment first
	Holds       List = "holds"   // by cause, like those that follow
	Doubts      List = "doubts"
	DeadLetters List = "dead-letters"
	Unserved    List = "unserved"
	Conflicts   List = "conflicts"
	Replans     List = "replans" // at most 1,000, on one page
	Pauses      List = "pauses"  // and stopped channels; on one page
	Erasures    List = "erasures"
	Audit       List = "audit" // the newest first; a page may be short and still have a next one
)

// Lists lists all lists.
func Lists() []List {
	return []List{Reminders, Messages, Campaigns, Links, Unhappy, Reports, Runs, Holds, Doubts, DeadLetters, Unserved, Conflicts, Replans, Pauses, Erasures, Audit}
}

// reader reads a page of a list.
type reader func(context.Context, storage.Page) ([]Entry, string, error)

// List reads a page of a list, without the history of its rows, and returns where the
// next page begins; empty after the last. The list of a domain that the desk does not
// have is empty. An unknown list is ErrAbout.
func (d *Desk) List(ctx context.Context, scope Scope, of List, p storage.Page) ([]Entry, string, error) {
	if !slices.Contains(Lists(), of) {
		return nil, "", fmt.Errorf("support: List: %w: unknown list %.40q: take one of support.Lists", ErrAbout, string(of))
	}
	p.Limit = cmp.Or(max(p.Limit, 0), DefaultPage)
	read := lister{d.core}.list(scope, of)
	if read == nil {
		return nil, "", nil
	}
	out, next, err := read(ctx, p)
	if err == nil && (of == Reminders || of == Runs) {
		err = filler{d.core}.outcomes(ctx, scope, out)
	}
	if err == nil {
		err = filler{d.core}.surveys(ctx, scope, out)
	}
	if err != nil {
		return nil, "", fmt.Errorf("support: List: %w", err)
	}
	return out, next, nil
}

// lister reads lists.
type lister struct{ *core }

// list returns the function that reads a list; nil: it is empty.
func (l lister) list(scope Scope, of List) reader {
	switch of {
	case Holds:
		return l.causes(scope, NeedHold)
	case Doubts:
		return l.causes(scope, NeedDoubt)
	case DeadLetters:
		return l.causes(scope, NeedDead)
	case Unserved:
		return l.causes(scope, NeedUnserved)
	case Pauses:
		return l.pauses(scope)
	case Erasures:
		return viewed(l.core, scope, sweep.List, erasureEntry)
	case Audit:
		return viewed(l.core, scope, audit.Newest, auditEntry)
	case Links:
		if l.o.Survey != nil {
			return paged(func(ctx context.Context, p storage.Page) ([]survey.Instance, string, error) {
				return l.o.Survey.Support().Instances(ctx, scope, survey.Selection{All: true}, p)
			}, linkEntry)
		}
	case Unhappy:
		return l.unhappyList(scope)
	case Reports:
		if l.o.Reports != nil {
			return paged(func(ctx context.Context, p storage.Page) ([]report.Subscription, string, error) {
				return l.o.Reports.Subscriptions(ctx, scope, p)
			}, reportEntry)
		}
	case Reminders, Runs, Replans:
		if l.o.Automation != nil {
			return l.planned(scope, of)
		}
	default:
		if l.o.Notify != nil {
			return l.sent(scope, of)
		}
	}
	return nil
}

// planned reads the lists of package automation.
func (l lister) planned(scope Scope, of List) reader {
	switch of {
	case Reminders:
		return paged(func(ctx context.Context, p storage.Page) ([]automation.Schedule, string, error) {
			return l.o.Automation.Support().AllSchedules(ctx, scope, p)
		}, l.reminder)
	case Runs:
		return paged(func(ctx context.Context, p storage.Page) ([]automation.Schedule, string, error) {
			return l.o.Automation.Support().ReportRuns(ctx, scope, automation.ReportRuns{Page: p})
		}, l.reminder)
	}
	return paged(func(ctx context.Context, _ storage.Page) ([]automation.ReplanState, string, error) {
		all, err := l.o.Automation.Maintenance().Replans(ctx, scope)
		return all, "", err
	}, replanEntry)
}

// sent reads the lists of package notify.
func (l lister) sent(scope Scope, of List) reader {
	switch of {
	case Messages:
		return paged(func(ctx context.Context, p storage.Page) ([]notify.OutgoingMessage, string, error) {
			return l.o.Notify.Support().AllMessages(ctx, scope, p)
		}, messageEntry)
	case Campaigns:
		return paged(func(ctx context.Context, p storage.Page) ([]notify.MessagingJob, string, error) {
			return l.o.Notify.Campaigns().List(ctx, scope, p)
		}, campaignEntry)
	}
	return paged(func(ctx context.Context, p storage.Page) ([]notify.Conflict, string, error) {
		return l.o.Notify.Support().Conflicts(ctx, scope, p)
	}, conflictEntry)
}

// viewed reads a page of rows in a view.
func viewed[R any](c *core, scope Scope, list func(context.Context, driver.Reader, storage.Scope, storage.Page) ([]R, string, error), tell func(*R) Entry) reader {
	return paged(func(ctx context.Context, p storage.Page) (rows []R, next string, err error) {
		err = c.o.Store.View(ctx, func(from driver.Reader) (err error) {
			rows, next, err = list(ctx, from, scope, p)
			return err
		})
		return rows, next, err
	}, tell)
}

// cause is the place where a list by cause continues: within the rows of one cause.
type cause struct {
	Table  string `json:"t"`
	Reason string `json:"r,omitempty"`
	Name   string `json:"n,omitempty"`
	After  string `json:"a,omitempty"`
}

func (c cause) compare(o cause) int {
	return cmp.Or(strings.Compare(c.Table, o.Table), strings.Compare(c.Reason, o.Reason), strings.Compare(c.Name, o.Name))
}

// causes reads the rows of all causes of a kind, one cause after the other.
func (l lister) causes(scope Scope, kind NeedKind) reader {
	return func(ctx context.Context, p storage.Page) (out []Entry, next string, err error) {
		var at cause
		if p.After != "" {
			plain, err := base64.RawURLEncoding.DecodeString(p.After)
			if err != nil || json.Unmarshal(plain, &at) != nil {
				return nil, "", fmt.Errorf("%w: of a list", storage.ErrPage)
			}
		}
		domains, err := l.health(ctx, storage.Within(scope))
		if err != nil {
			return nil, "", err
		}
		var all []cause
		of := map[cause]Need{}
		for _, n := range needsIn(domains) {
			c := cause{Table: n.Table, Reason: n.Reason, Name: n.Name}
			if n.Kind == kind && l.waiting(scope, n) != nil && c.compare(at) >= 0 {
				all, of[c] = append(all, c), n
			}
		}
		slices.SortFunc(all, cause.compare)
		for _, c := range all {
			page := storage.Page{Limit: p.Limit - len(out)}
			if c.compare(at) == 0 {
				page.After = at.After
			}
			if page.Limit == 0 {
				return out, c.String(), nil
			}
			rows, after, err := l.waiting(scope, of[c])(ctx, page)
			if err != nil {
				return nil, "", err
			}
			if out = append(out, rows...); after != "" {
				c.After = after
				return out, c.String(), nil
			}
		}
		return out, "", nil
	}
}

func (c cause) String() string {
	text, err := json.Marshal(c)
	if err != nil {
		panic(err) // it consists of texts
	}
	return base64.RawURLEncoding.EncodeToString(text)
}

// pauses lists pauses and stopped channels.
func (l lister) pauses(scope Scope) reader {
	return func(ctx context.Context, _ storage.Page) (out []Entry, _ string, err error) {
		if l.o.Automation != nil {
			all, err := l.o.Automation.Support().Pauses(ctx, scope)
			if err != nil {
				return nil, "", err
			}
			for _, p := range all {
				out = append(out, paused(Part{Domain: "automation", Type: p.Type, Everywhere: p.Everywhere}, p.Since, p.Until, p.By))
			}
		}
		if l.o.Notify == nil {
			return out, "", nil
		}
		all, err := l.o.Notify.Support().Pauses(ctx, scope)
		if err != nil {
			return nil, "", err
		}
		for _, p := range all {
			out = append(out, paused(Part{Domain: "notify", Type: p.Type, Channel: p.Channel, Everywhere: p.Everywhere}, p.Since, p.Until, p.By))
		}
		outages, err := l.o.Notify.Support().Outages(ctx, scope)
		for _, o := range outages {
			out = append(out, Entry{
				On: o.Since, Kind: KindOutage, Outcome: NeedsYou, Type: o.Channel, Channel: o.Channel, Status: "Out", NextOn: o.ProbeOn, Reason: o.Code,
				What: stopped(o.Channel, o.Code), ToDo: stoppedToDo,
			})
		}
		return out, "", err
	}
}
