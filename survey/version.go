package survey

import (
	"container/list"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/driver"
	"github.com/belfry-go/belfry/survey/form"
)

// Version is what [Service.Publish] takes: a survey with its definition.
type Version struct {
	Scope Scope
	// SurveyID is the host's id of the survey, above zero: the templateId of recipes.
	SurveyID int64
	// Number is what the host thinks the new version's number is; zero: the next one.
	Number int64
	// Name is for people. IntegrationID tells subscribers what kind of survey it is.
	Name, IntegrationID string
	// BusinessUnit is the host's; it may be empty.
	BusinessUnit string
	// Definition is a [form.Definition] as JSON, at most 256 KiB without spaces.
	Definition json.RawMessage
}

// surveyRow is a survey; Key is surveyKey. It is never due.
type surveyRow struct {
	storage.Record
	SurveyID      int64  `db:"survey_id,fixed"`
	Name          string `db:"name,plain"`
	IntegrationID string `db:"integration_id,plain"`
	BusinessUnit  string `db:"business_unit,plain"`
	// LatestVersion is the highest number so far, and ContentHash that version's.
	LatestVersion int64  `db:"latest_version"`
	ContentHash   string `db:"content_hash,plain"`
	// PublishedVersion is the number of the version that ingest uses; zero: none.
	PublishedVersion int64     `db:"published_version"`
	SavedOn          time.Time `db:"saved_on"`
}

var surveys = driver.Define[surveyRow]("survey").Grows(driver.Bounded).
	Kept(driver.Always, "as many as people configure")

// surveyKey is the key of a survey's row: in the order of the ids.
func surveyKey(surveyID int64) string { return fmt.Sprintf("%019d", surveyID) }

// versionRow is a published version, which never changes; Key is versionKey. It is
// never due.
type versionRow struct {
	storage.Record
	SurveyID      int64           `db:"survey_id,fixed"`
	Number        int64           `db:"number,fixed"`
	Name          string          `db:"name,fixed,plain"`
	IntegrationID string          `db:"integration_id,fixed,plain"`
	BusinessUnit  string          `db:"business_unit,fixed,plain"`
	ContentHash   string          `db:"content_hash,fixed,plain"`
	Definition    json.RawMessage `db:"definition,fixed,json,plain"`
	PublishedOn   time.Time       `db:"published_on,fixed"`
}

var versions = driver.Define[versionRow]("survey_version").Grows(driver.Bounded).
	Kept(driver.Always, "what instances and responses are pinned to").Limit(form.MaxDefinition + 8<<10)

// versionKey is the key of a version's row: in the order of the numbers within a
// survey.
func versionKey(surveyID, number int64) string {
	return surveyKey(surveyID) + fmt.Sprintf(":%019d", number)
}

// triggerRow is a trigger of the published version of a survey, found by its event
// kind; Key is the survey's and the trigger's id. It is never due.
type triggerRow struct {
	storage.Record
	SurveyID  int64  `db:"survey_id,fixed"`
	TriggerID string `db:"trigger_id,fixed,plain"`
	// EventKind is empty while the trigger is none of the published version, or is
	// switched off, and openKind of an open link.
	EventKind string `db:"event_kind,indexed,plain"`
	// LinkKey and LinkHash are those of an open link, as of an instance; else empty.
	LinkKey       string `db:"link_key,plain"`
	LinkHash      string `db:"link_hash,indexed,secret"`
	VersionNumber int64  `db:"version_number"`
	ContentHash   string `db:"content_hash,plain"`
}

var triggers = driver.Define[triggerRow]("survey_trigger").Grows(driver.Bounded).
	Kept(driver.Always, "as many as people configure")

// versionRef names a version. ContentHash is that of its row, and may be empty where
// the caller does not know it.
type versionRef struct {
	Scope            Scope
	SurveyID, Number int64
	ContentHash      string
}

// ref is the version that a trigger belongs to.
func (r *triggerRow) ref() versionRef {
	return versionRef{r.Scope, r.SurveyID, r.VersionNumber, r.ContentHash}
}

// ref is the version that an instance is pinned to, without the hash.
func (i *instanceRow) ref() versionRef {
	return versionRef{Scope: i.Scope, SurveyID: i.SurveyID, Number: i.SurveyVersion}
}

func (r *versionRow) ref() versionRef {
	return versionRef{r.Scope, r.SurveyID, r.Number, r.ContentHash}
}

// hashes are the content hashes of versions, by references without them.
type hashes map[versionRef]string

// complete adds the hash to a reference that has none.
func (h hashes) complete(ref versionRef) versionRef {
	if ref.ContentHash == "" {
		ref.ContentHash = h[ref]
	}
	return ref
}

// hashesOf reads the hashes of those references that have none.
func hashesOf(ctx context.Context, from driver.Reader, refs []versionRef) (hashes, error) {
	var places []driver.ScopedKey
	for _, ref := range refs {
		if ref.ContentHash == "" {
			places = append(places, ref.place())
		}
	}
	rows, err := versions.GetMany(ctx, from, places, "survey_id", "number", "content_hash")
	out := hashes{}
	for _, r := range rows {
		out[versionRef{Scope: r.Scope, SurveyID: r.SurveyID, Number: r.Number}] = r.ContentHash
	}
	return out, err
}

// place is where the version's row is.
func (r versionRef) place() driver.ScopedKey {
	return driver.ScopedKey{Scope: r.Scope, Key: versionKey(r.SurveyID, r.Number)}
}

// version is a published version with its parsed definition. It is shared by
// goroutines and never changed. The definition's text is not kept.
type version struct {
	*versionRow
	form.Definition
}

// versionOf is the version with that number; its error is storage.ErrNotFound if
// there is none.
func (s *core) versionOf(ctx context.Context, from driver.Reader, scope Scope, surveyID, number int64) (*version, error) {
	ref := versionRef{Scope: scope, SurveyID: surveyID, Number: number}
	set, err := s.versionsOf(ctx, from, ref)
	if err != nil {
		return nil, err
	}
	return set.of(ref)
}

// versionSet is the answer of versionsOf, by the references asked for.
type versionSet map[versionRef]parsedVersion

type parsedVersion struct {
	*version
	err error
}

// of is one of the versions. The error is storage.ErrNotFound if there is none; one
// whose definition this process cannot read, since a later release has written it,
// is errUnreadable and does not harm the others.
func (s versionSet) of(ref versionRef) (*version, error) {
	v, ok := s[ref]
	if !ok {
		return nil, fmt.Errorf("survey: version %d of survey %d: %w", ref.Number, ref.SurveyID, storage.ErrNotFound)
	}
	return v.version, v.err
}

// versionsAtOnce is how many versions one call reads: a definition has up to
// maxDefinition.
const versionsAtOnce = 50

// versionsOf is versionOf for at most versionsAtOnce. Versions that this process has parsed are not read
// again if the references have their hashes; of others only the hashes are read. Each
// takes one statement.
func (s *core) versionsOf(ctx context.Context, from driver.Reader, refs ...versionRef) (versionSet, error) {
	hashes, err := hashesOf(ctx, from, refs)
	if err != nil {
		return nil, err
	}
	out, missing := versionSet{}, []driver.ScopedKey(nil)
	for _, asked := range refs {
		if v := s.parsed.get(hashes.complete(asked)); v != nil {
			out[asked] = parsedVersion{version: v}
		} else {
			missing = append(missing, asked.place())
		}
	}
	loaded, err := s.load(ctx, from, missing)
	if err != nil {
		return nil, err
	}
	for _, asked := range refs {
		if v, ok := loaded[hashes.complete(asked)]; ok {
			out[asked] = v
		}
	}
	return out, nil
}

// load reads and parses versions.
func (s *core) load(ctx context.Context, from driver.Reader, places []driver.ScopedKey) (versionSet, error) {
	rows, err := versions.GetMany(ctx, from, places)
	out := versionSet{}
	for _, row := range rows {
		size := len(row.Definition)
		v, err := row.parse()
		if err == nil {
			v = s.parsed.add(row.ref(), v, size)
		}
		out[row.ref()] = parsedVersion{v, err}
	}
	return out, err
}

// errUnreadable is in the chain of an error about one version, which harms no other.
var errUnreadable = errors.New("cannot be read")

// parse reads the definition of a row, which it takes over. Members that a later
// release has added are passed over.
func (r *versionRow) parse() (*version, error) {
	v := &version{versionRow: r}
	if err := json.Unmarshal(r.Definition, &v.Definition); err != nil {
		return nil, fmt.Errorf("survey: version %d of survey %d %w: %w", r.Number, r.SurveyID, errUnreadable, err)
	}
	r.Definition = nil
	return v, nil
}

// maxCached bounds the versions that a process keeps parsed, by the bytes of their
// text. Parsed ones take a few times as much.
const maxCached = 32 << 20

// versionOverhead is what a version counts beside its text.
const versionOverhead = 1 << 10

// versionCache keeps the versions that were used last (Triggers & Scheduler, "Schema
// cache"). Scope and content hash are part of what they are found by: no tenant gets
// another's, and what was read in a transaction that was rolled back does no harm.
type versionCache struct {
	limit int

	mu      sync.Mutex
	entries map[versionRef]*list.Element // of cachedVersion
	used    list.List                    // the last used first
	size    int
}

type cachedVersion struct {
	ref     versionRef
	version *version
	size    int
}

func newVersionCache() *versionCache {
	return &versionCache{limit: maxCached, entries: map[versionRef]*list.Element{}}
}

// get is nil if the version is not here.
func (c *versionCache) get(ref versionRef) *version {
	c.mu.Lock()
	defer c.mu.Unlock()
	e := c.entries[ref]
	if e == nil {
		return nil
	}
	c.used.MoveToFront(e)
	return e.Value.(cachedVersion).version
}

// add keeps a version whose text has that many bytes, and returns the one that is
// kept: several readers may have parsed it at once.
func (c *versionCache) add(ref versionRef, v *version, bytes int) *version {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e := c.entries[ref]; e != nil {
		return e.Value.(cachedVersion).version
	}
	size := bytes + versionOverhead
	c.entries[ref] = c.used.PushFront(cachedVersion{ref, v, size})
	c.size += size
	for c.size > c.limit && c.used.Len() > 1 {
		oldest := c.used.Remove(c.used.Back()).(cachedVersion)
		delete(c.entries, oldest.ref)
		c.size -= oldest.size
	}
	return v
}

// latest is the latest version of a survey; nil if there is none that can be read.
func (s *core) latest(ctx context.Context, from driver.Reader, scope Scope, surveyID int64) (*version, error) {
	row, err := surveys.Get(ctx, from, scope, surveyKey(surveyID))
	if errors.Is(err, storage.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	v, err := s.versionOf(ctx, from, scope, surveyID, row.LatestVersion)
	if unreadable(err) {
		return nil, nil
	}
	return v, err
}

// asked are the questions of a version by id, each with its place; of no version none.
func (v *version) asked() map[string]askedQuestion {
	out := map[string]askedQuestion{}
	if v != nil {
		for i := range v.Questions {
			out[v.Questions[i].ID] = askedQuestion{i, &v.Questions[i]}
		}
	}
	return out
}

type askedQuestion struct {
	place int
	*form.Question
}
