package survey

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/belfry-go/belfry/keys"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/driver"
	"github.com/belfry-go/belfry/survey/form"
)

// Published is what [Service.Publish] answers.
type Published struct {
	Number int64
	// ContentHash is the lower-case hex of a SHA-256 over the definition without
	// spaces, the name, the integration id and the business unit.
	ContentHash string
	// Repeated says that the version was there already.
	Repeated bool
	// Warnings are what is allowed and probably not meant.
	Warnings []form.Fault
}

// Publish stores a version, and makes it the one whose triggers ingest uses. A
// version never changes: instances stay with the one that they were made by.
//
// Everything that is wrong is reported at once, as a [*DefinitionError], and nothing
// is stored then. A channel or subscriber that this process does not have is wrong, too, if
// it has others, unless Options.Elsewhere is set: so subscribe before. Publishing what the latest version says already answers that
// version's number, also to several publishers at once; if it had been unpublished,
// ingest uses it again. A call may therefore be repeated.
//
// With [Version.Number] set a call has no effect unless that is the next number; it
// is then a storage.ErrStale, or, if the version of that number says the same, its
// repetition.
func (s *Service) Publish(ctx context.Context, v Version) (Published, error) {
	d, faults := form.Parse(v.Definition)
	faults = append(append(v.faults(), faults...), s.unregistered(&d)...)
	if len(faults) > 0 {
		return Published{}, &form.DefinitionError{Faults: faults}
	}
	v.Definition = form.Stored(v.Definition)
	p := publication{Version: v, enabled: d.Enabled(), hash: v.contentHash()}
	out := Published{ContentHash: p.hash, Warnings: d.Warnings()}
	var err error
	if slices.ContainsFunc(p.enabled, isOpenLink) {
		if p.links, err = s.linkKeyFor(ctx, v.Scope); err != nil {
			return Published{}, fmt.Errorf("survey: publish survey %d: %w", v.SurveyID, err)
		}
	}
	err = s.inTx(ctx, func(tx storage.Tx) (err error) {
		out.Number, out.Repeated, err = p.run(ctx, tx)
		return err
	})
	if err != nil {
		return Published{}, fmt.Errorf("survey: publish survey %d: %w", v.SurveyID, err)
	}
	return out, nil
}

// contentHash tells one content from another.
func (v *Version) contentHash() string {
	sum := keys.Sum(string(v.Definition), v.Name, v.IntegrationID, v.BusinessUnit)
	return hex.EncodeToString(sum[:])
}

// faults are what is wrong beside the definition.
func (v *Version) faults() (found []form.Fault) {
	if v.SurveyID < 1 {
		found = append(found, form.Fault{Path: "SurveyID", Problem: fmt.Sprintf("is %d, not above zero", v.SurveyID)})
	}
	if v.Number < 0 {
		found = append(found, form.Fault{Path: "Number", Problem: fmt.Sprintf("is %d, below zero", v.Number)})
	}
	found = append(found, form.CheckName("Scope", string(v.Scope))...)
	found = append(found, form.CheckName("Name", v.Name)...)
	found = append(found, form.CheckName("IntegrationID", v.IntegrationID)...)
	return append(found, form.CheckName("BusinessUnit", v.BusinessUnit)...)
}

// unregistered are the channels and subscribers of enabled triggers and open links that this
// process has not registered. Without any channels none is looked for, and so with subscribers.
func (s *core) unregistered(d *form.Definition) (found []form.Fault) {
	if s.options.Elsewhere {
		return nil
	}
	subscribers := slices.Clone(s.options.ExpectedSubscribers)
	for _, key := range s.box.Keys() {
		subscribers = append(subscribers, subscriberOf(key))
	}
	check := func(path, key, what string, known []string) {
		if len(known) > 0 && !slices.Contains(known, key) {
			slices.Sort(known)
			found = append(found, form.Fault{Path: path, Problem: fmt.Sprintf(
				"%.40q is not a %s of this process, which has %.40q; set Options.Elsewhere if another has it", key, what, known[:min(len(known), 5)])})
		}
	}
	for i, t := range d.Triggers {
		if !t.Enabled {
			continue
		}
		at := fmt.Sprintf("triggers[%d].", i)
		if t.Channel != form.NoChannel {
			check(at+"channel", t.Channel, "channel", s.out.Channels())
		}
		for j, r := range t.Subscribers {
			check(fmt.Sprintf("%ssubscribers[%d].key", at, j), r.Key, "subscriber", subscribers)
		}
	}
	for i, l := range d.OpenLinks {
		for j, r := range l.Subscribers {
			if l.Enabled {
				check(fmt.Sprintf("openLinks[%d].subscribers[%d].key", i, j), r.Key, "subscriber", subscribers)
			}
		}
	}
	return found
}

// publication is one call of Publish.
type publication struct {
	Version
	enabled []form.Trigger
	hash    string
	links   keys.LinkKey // of open links
}

// run stores the version unless it is there, and says which number it has.
func (p *publication) run(ctx context.Context, tx storage.Tx) (number int64, repeated bool, err error) {
	row, err := changeSurvey(ctx, tx, p.Scope, p.SurveyID, func(row *surveyRow) (write bool, err error) {
		number, err = p.number(ctx, tx, row)
		if repeated = number <= row.LatestVersion; err != nil || repeated && !p.restores(row, number) {
			return false, err
		}
		row.LatestVersion, row.PublishedVersion = number, number
		row.Name, row.IntegrationID, row.BusinessUnit, row.ContentHash = p.Name, p.IntegrationID, p.BusinessUnit, p.hash
		return true, nil
	})
	if err != nil || row == nil {
		return number, repeated, err
	}
	if !repeated {
		if err := p.insert(ctx, tx, number); err != nil {
			return 0, false, err
		}
	}
	return number, repeated, setTriggers(ctx, tx, p.Scope, p.SurveyID, p.triggers(number))
}

// number is the number that the version gets, or has.
func (p *publication) number(ctx context.Context, tx storage.Tx, row *surveyRow) (int64, error) {
	next := row.LatestVersion + 1
	switch {
	case p.Number == 0 && row.LatestVersion > 0 && row.ContentHash == p.hash:
		return row.LatestVersion, nil
	case p.Number == 0 || p.Number == next:
		return next, nil
	case p.Number > next:
		return 0, fmt.Errorf("version %d is not the next one, which is %d: %w", p.Number, next, storage.ErrStale)
	}
	stored, err := versions.Get(ctx, tx, p.Scope, versionKey(p.SurveyID, p.Number))
	if err == nil && stored.ContentHash != p.hash {
		err = fmt.Errorf("version %d says something else, the next one is %d: %w", p.Number, next, storage.ErrStale)
	}
	return p.Number, err
}

// restores reports whether a version that is there is the latest one and was
// unpublished. An older one is left alone: its publisher only repeats a call.
func (p *publication) restores(row *surveyRow, number int64) bool {
	return number == row.LatestVersion && row.PublishedVersion != number
}

func (p *publication) insert(ctx context.Context, tx storage.Tx, number int64) error {
	inserted, err := versions.Insert(ctx, tx, &versionRow{
		Record: storage.Record{Scope: p.Scope, Key: versionKey(p.SurveyID, number)}, SurveyID: p.SurveyID, Number: number,
		Name: p.Name, IntegrationID: p.IntegrationID, BusinessUnit: p.BusinessUnit,
		ContentHash: p.hash, Definition: p.Definition, PublishedOn: driver.Now(tx.Store()),
	})
	if err == nil && !inserted[0] {
		return fmt.Errorf("version %d is there already: %w", number, storage.ErrStale)
	}
	return err
}

// triggers are the rows by which ingest finds the version.
func (p *publication) triggers(number int64) []*triggerRow {
	out := make([]*triggerRow, len(p.enabled))
	for i, t := range p.enabled {
		out[i] = &triggerRow{
			Record: storage.Record{Scope: p.Scope, Key: triggerKey(p.SurveyID, t.ID)}, SurveyID: p.SurveyID, TriggerID: t.ID,
			EventKind: t.EventKind, VersionNumber: number, ContentHash: p.hash,
		}
		if isOpenLink(t) {
			out[i].openAs(p.links)
		}
	}
	return out
}

// changeSurvey changes the row of a survey, again if another writes it
// meanwhile. change gets the stored row, or a new one whose Version is zero, and says
// whether to write it. The row that was written locks out others until the end of the
// transaction; nil: there was nothing to write.
func changeSurvey(ctx context.Context, tx storage.Tx, scope Scope, surveyID int64, change func(*surveyRow) (write bool, err error)) (*surveyRow, error) {
	for range 10 {
		row, err := surveys.Get(ctx, tx, scope, surveyKey(surveyID))
		if errors.Is(err, storage.ErrNotFound) {
			row, err = &surveyRow{Record: storage.Record{Scope: scope, Key: surveyKey(surveyID)}, SurveyID: surveyID}, nil
		}
		if err != nil {
			return nil, err
		}
		if write, err := change(row); err != nil || !write {
			return nil, err
		}
		row.SavedOn = driver.Now(tx.Store())
		if written, err := writeSurvey(ctx, tx, row); err != nil || written {
			return row, err
		}
	}
	return nil, storage.ErrBusy
}

// writeSurvey reports whether the row is as it was read, and is now written.
func writeSurvey(ctx context.Context, tx storage.Tx, row *surveyRow) (bool, error) {
	if row.Version == 0 {
		inserted, err := surveys.Insert(ctx, tx, row)
		return err == nil && inserted[0], err
	}
	err := surveys.Save(ctx, tx, row)
	if errors.Is(err, storage.ErrStale) {
		return false, nil
	}
	return err == nil, err
}

// triggerKey is the key of a trigger's row.
func triggerKey(surveyID int64, triggerID string) string {
	return strconv.FormatInt(surveyID, 10) + "\x1f" + triggerID
}

// setTriggers makes the rows of a survey's triggers those wanted; the others have no
// kind of event any more. The survey's row has been written in the same transaction,
// so that no other does this now.
func setTriggers(ctx context.Context, tx storage.Tx, scope Scope, surveyID int64, wanted []*triggerRow) error {
	missing := map[string]*triggerRow{}
	for _, w := range wanted {
		missing[w.Key] = w
	}
	survey := strconv.FormatInt(surveyID, 10)
	stored, err := triggers.Find(ctx, tx, scope, driver.Query{
		Where: append(driver.ChildrenOf(survey), driver.Any(driver.Greater("event_kind", ""), driver.In("key", slices.Sorted(maps.Keys(missing))))),
		Limit: 2 * form.MaxTriggers,
	})
	if err != nil {
		return err
	}
	for _, row := range stored {
		w, ok := missing[row.Key]
		if !ok {
			row.EventKind = ""
			continue
		}
		row.EventKind, row.VersionNumber, row.ContentHash = w.EventKind, w.VersionNumber, w.ContentHash
		if row.LinkHash == "" { // else its link is printed somewhere
			row.LinkKey, row.LinkHash = w.LinkKey, w.LinkHash
		}
		delete(missing, row.Key)
	}
	if err := triggers.Save(ctx, tx, stored...); err != nil {
		return err
	}
	_, err = triggers.Insert(ctx, tx, slices.SortedFunc(maps.Values(missing), byKey)...)
	return err
}

func byKey(a, b *triggerRow) int { return strings.Compare(a.Key, b.Key) }

// Unpublish stops ingest from making instances of a survey. Those that there are go
// on: they are sent, reminded of, answered and passed on. Publishing any version ends
// it. A survey that is not published stays so; one that does not exist is
// storage.ErrNotFound.
func (s *Service) Unpublish(ctx context.Context, scope Scope, surveyID int64) error {
	err := s.inTx(ctx, func(tx storage.Tx) error {
		row, err := changeSurvey(ctx, tx, scope, surveyID, func(row *surveyRow) (write bool, err error) {
			if row.Version == 0 {
				return false, storage.ErrNotFound
			}
			write = row.PublishedVersion != 0
			row.PublishedVersion = 0
			return write, nil
		})
		if err != nil || row == nil {
			return err
		}
		return setTriggers(ctx, tx, scope, surveyID, nil)
	})
	if err != nil {
		return fmt.Errorf("survey: unpublish survey %d: %w", surveyID, err)
	}
	return nil
}
