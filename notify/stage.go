package notify

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/belfry-go/belfry/reasons"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/driver"
)

// Stage is how far a message has come, in the words of a support desk.
type Stage string

// The stages.
const (
	StageWaiting Stage = "Waiting" // it is made, and its call is to come
	StageSending Stage = "Sending" // its provider is being called
	StageSent    Stage = "Sent"    // a provider has it
	StageArrived Stage = "Arrived" // the provider says that it was delivered or opened
	StageFailed  Stage = "Failed"  // it was refused for good, or it came back
	StageUnknown Stage = "Unknown" // it is unknown whether the provider has it
	StageOnHold  Stage = "OnHold"  // a person has to decide
	StageBlocked Stage = "Blocked" // its address cannot be written to
	StageExpired Stage = "Expired" // its time had passed
	StageSkipped Stage = "Skipped" // a rule or a person stopped it
	// StageMissing are those that their recipient should have got and did not:
	// Waiting, Failed, Unknown, OnHold, Blocked and Expired. A filter takes it; no message
	// is in it.
	StageMissing Stage = "Missing"
)

// Stages are those that a filter takes.
func Stages() []Stage {
	return []Stage{StageMissing, StageArrived, StageSent, StageSending, StageWaiting, StageFailed, StageUnknown, StageOnHold, StageBlocked, StageExpired, StageSkipped}
}

// Missing reports whether the recipient of a message in this stage should have got it and
// did not.
func (s Stage) Missing() bool {
	return slices.Contains([]Stage{StageWaiting, StageFailed, StageUnknown, StageOnHold, StageBlocked, StageExpired}, s)
}

// blockedReasons are those of skipped messages whose address cannot be written to.
var blockedReasons = []string{reasons.BadAddress, reasons.Suppressed}

var stageOf = map[string]Stage{
	StatusCreated: StageWaiting, StatusRetryReady: StageWaiting, StatusSending: StageSending, StatusSentToProvider: StageSent,
	StatusDelivered: StageArrived, StatusOpened: StageArrived, StatusFailedFinal: StageFailed, StatusOutcomeUnknown: StageUnknown,
	StatusExpired: StageExpired, StatusSkipped: StageSkipped, StatusCancelled: StageSkipped,
}

// Stage is how far the message has come.
func (m *OutgoingMessage) Stage() Stage { return stage(m.Status, m.IsOnSupportHold, m.ReasonCode) }

func stage(status string, held bool, reason string) Stage {
	switch {
	case status == StatusOutcomeUnknown:
		return StageUnknown
	case held:
		return StageOnHold
	case status == StatusSentToProvider && reason != "": // it came back
		return StageFailed
	case status == StatusSkipped && slices.Contains(blockedReasons, reason):
		return StageBlocked
	}
	return stageOf[status]
}

// conds are what the rows of a stage meet, as stage has it.
func (s Stage) conds() []driver.Cond {
	free := driver.Eq("is_on_support_hold", false)
	in := func(statuses ...string) driver.Cond { return driver.In("status", statuses) }
	switch s {
	case StageUnknown:
		return []driver.Cond{in(StatusOutcomeUnknown)}
	case StageOnHold:
		return []driver.Cond{driver.Eq("is_on_support_hold", true), driver.Any(driver.Less("status", StatusOutcomeUnknown), driver.Greater("status", StatusOutcomeUnknown))}
	case StageSent:
		return []driver.Cond{free, in(StatusSentToProvider), driver.Eq("reason_code", "")}
	case StageFailed:
		return []driver.Cond{free, in(StatusFailedFinal, StatusSentToProvider), driver.Any(in(StatusFailedFinal), driver.Greater("reason_code", ""))}
	case StageBlocked:
		return []driver.Cond{free, in(StatusSkipped), driver.In("reason_code", blockedReasons)}
	case StageSkipped:
		out := []driver.Cond{free, in(StatusSkipped, StatusCancelled)}
		for _, r := range blockedReasons {
			out = append(out, driver.Any(in(StatusCancelled), driver.Less("reason_code", r), driver.Greater("reason_code", r)))
		}
		return out
	case StageMissing:
		lost := []string{StatusCreated, StatusRetryReady, StatusOutcomeUnknown, StatusFailedFinal, StatusExpired}
		return []driver.Cond{ // lost, or on hold, or skipped for its address, or came back
			driver.Any(driver.Eq("is_on_support_hold", true), in(append(lost, StatusSkipped, StatusSentToProvider)...)),
			driver.Any(driver.Eq("is_on_support_hold", true), in(append(lost, StatusSentToProvider)...), driver.In("reason_code", blockedReasons)),
			driver.Any(driver.Eq("is_on_support_hold", true), in(append(lost, StatusSkipped)...), driver.Greater("reason_code", "")),
		}
	}
	var statuses []string
	for status, is := range stageOf {
		if is == s {
			statuses = append(statuses, status)
		}
	}
	slices.Sort(statuses)
	return []driver.Cond{free, in(statuses...)}
}

// Made says which messages [Support.MessagesMade] lists.
type Made struct {
	// From and Until are when they were made: From is among it, Until is not. Both are
	// required.
	From, Until time.Time
	// Type, BusinessUnit, Channel, Stage and Address, in its normal form, leave out all others;
	// empty: none. The Channel is the Via of a message or, without one, the channel that it
	// asks for.
	Type, BusinessUnit, Channel, Address string
	Stage                                Stage
}

func (m Made) check() error {
	switch {
	case m.From.IsZero() || m.Until.IsZero():
		return errors.New("both From and Until are required")
	case m.Stage != "" && !slices.Contains(Stages(), m.Stage):
		return fmt.Errorf("%.40q is not a stage", string(m.Stage))
	}
	return nil
}

func (m Made) conds() []driver.Cond {
	out := []driver.Cond{driver.AtLeast("created_on", m.From), driver.Less("created_on", m.Until)}
	if m.Type != "" {
		out = append(out, driver.Eq("notification_type", m.Type))
	}
	if m.BusinessUnit != "" {
		out = append(out, driver.Eq("business_unit", m.BusinessUnit))
	}
	if m.Channel != "" { // by Via, or where there is none by what was asked for
		via := driver.Eq("via", m.Channel)
		out = append(out, driver.Any(via, driver.Eq("via", "")), driver.Any(via, driver.Eq("kind", m.Channel)))
	}
	if m.Address != "" {
		out = append(out, driver.Eq("address", m.Address))
	}
	if m.Stage != "" {
		out = append(out, m.Stage.conds()...)
	}
	return out
}

const (
	// madeWindow is how many rows of all scopes one page or count looks at.
	madeWindow = 10_000
	// madeSlack is how far the order of ids may differ from that of the times at which
	// messages were made: processes have clocks of their own.
	madeSlack = 5 * time.Minute
)

// MessagesMade lists the messages of a scope that were made in a span of time, the newest
// first. It reads ids, which ascend with time, so that no index by time is needed, and at
// most 10,000 rows of all scopes for a page: there may be a next page where this one is
// short, or empty.
func (n Support) MessagesMade(ctx context.Context, scope Scope, of Made, p storage.Page) (out []OutgoingMessage, next string, err error) {
	if err := of.check(); err != nil {
		return nil, "", fmt.Errorf("notify: MessagesMade: %w", err)
	}
	after, err := driver.ParsePosition(p.After)
	if err != nil || after != nil && after.Value != nil {
		return nil, "", driver.ErrPage
	}
	err = n.read(ctx, nil, func(from driver.Reader) error {
		low, top, err := madeIDs(ctx, from, of)
		if err != nil {
			return err
		}
		if after != nil {
			top = min(top, after.ID)
		}
		floor := max(top-madeWindow, low)
		rows, err := outgoingMessages.Find(ctx, from, scope, driver.Query{
			Where: append(within(floor, top), of.conds()...), Desc: true, Limit: p.Size(),
		})
		if err != nil {
			return err
		}
		if len(rows) == p.Size() {
			floor = rows[len(rows)-1].ID
		}
		if next = ""; floor > low {
			next = driver.Position{ID: floor}.String()
		}
		out = make([]OutgoingMessage, len(rows))
		for i, m := range rows {
			out[i] = m.view()
		}
		return nil
	})
	return out, next, err
}

// StageCount is how many messages of a channel are in a stage.
type StageCount struct {
	Channel string // as [Made] has it
	Stage   Stage
	N       int
}

// CountMade counts the messages of a scope that were made in a span of time, by channel and
// stage. It looks at the 10,000 newest rows of all scopes in the span; more says that there
// are others.
func (n Support) CountMade(ctx context.Context, scope Scope, of Made) (out []StageCount, more bool, err error) {
	if err := of.check(); err != nil {
		return nil, false, fmt.Errorf("notify: CountMade: %w", err)
	}
	err = n.read(ctx, nil, func(from driver.Reader) error {
		low, top, err := madeIDs(ctx, from, of)
		if err != nil {
			return err
		}
		floor := max(top-madeWindow, low)
		groups, err := outgoingMessages.CountBy(ctx, from, scope, driver.CountBy{
			By: []string{"kind", "via", "status", "is_on_support_hold", "reason_code"}, Where: append(within(floor, top), of.conds()...), OrderBy: "id", Limit: madeWindow,
		})
		counts := map[StageCount]int{}
		for _, g := range groups {
			counts[StageCount{Channel: cmp.Or(g.Row.Via, g.Row.Kind), Stage: stage(g.Row.Status, g.Row.IsOnSupportHold, g.Row.ReasonCode)}] += g.N
		}
		out, more = nil, floor > low
		for c, number := range counts {
			c.N = number
			out = append(out, c)
		}
		slices.SortFunc(out, func(a, b StageCount) int {
			return slices.Compare([]string{a.Channel, string(a.Stage)}, []string{b.Channel, string(b.Stage)})
		})
		return err
	})
	return out, more, err
}

func within(low, top int64) []driver.Cond {
	return []driver.Cond{driver.AtLeast("id", low), driver.Less("id", top)}
}

// madeIDs are the ids between which all messages of a span are: low is among them, top is
// not.
func madeIDs(ctx context.Context, from driver.Reader, of Made) (low, top int64, err error) {
	last, err := outgoingMessages.Everywhere().Find(ctx, from, driver.Query{Columns: []string{"created_on"}, Desc: true, Limit: 1})
	if err != nil || len(last) == 0 {
		return 1, 1, err
	}
	top = last[0].ID + 1
	if top, err = madeBefore(ctx, from, of.Until.Add(madeSlack), top); err == nil {
		low, err = madeBefore(ctx, from, of.From.Add(-madeSlack), top)
	}
	return low, top, err
}

// madeBefore is the lowest id of what was made at a time or later, at most top. It goes back
// from top in steps that double, and then looks between.
func madeBefore(ctx context.Context, from driver.Reader, on time.Time, top int64) (int64, error) {
	earlier := func(id int64) (next int64, is bool, err error) { // whether the first row from id on was made before
		rows, err := outgoingMessages.Everywhere().Find(ctx, from, driver.Query{
			Columns: []string{"created_on"}, Where: within(id, top), Limit: 1,
		})
		if err != nil || len(rows) == 0 {
			return id, false, err
		}
		return rows[0].ID, rows[0].CreatedOn.Before(on), nil
	}
	low, high := int64(1), top
	for step := int64(256); top-step > low; step *= 4 {
		at, is, err := earlier(top - step)
		if err != nil {
			return 0, err
		}
		if is {
			low = at + 1
			break
		}
		high = top - step
	}
	for low < high {
		middle := low + (high-low)/2
		at, is, err := earlier(middle)
		switch {
		case err != nil:
			return 0, err
		case is:
			low = at + 1
		default:
			high = middle
		}
	}
	return min(low, top), nil
}

// SourceKeys says for jobs of a scope which due work asked for them; those that nothing asked
// for are left out.
func (n Support) SourceKeys(ctx context.Context, scope Scope, of ...Coordinates) (out map[Coordinates]string, err error) {
	places := make([]driver.ScopedKey, len(of))
	for i, at := range of {
		places[i] = driver.ScopedKey{Scope: scope, Key: at.PartitionKey + "\x1f" + at.RowKey}
	}
	err = n.read(ctx, nil, func(from driver.Reader) error {
		found, err := jobs.GetMany(ctx, from, places, "source_key")
		out = map[Coordinates]string{}
		for i, at := range places {
			if j := found[at]; j != nil && j.SourceKey != "" {
				out[of[i]] = j.SourceKey
			}
		}
		return err
	})
	return out, err
}
