package notify

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"sync"
	"time"

	"golang.org/x/text/language"

	"github.com/belfry-go/belfry/internal/audit"
	"github.com/belfry-go/belfry/internal/states"
	"github.com/belfry-go/belfry/keys"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/driver"
)

// TemplateSet is what the messages of one notification type say, in one version: a
// [Template] for each locale.
type TemplateSet struct {
	// Version tells it from all other sets of the type in a tenant; it is kept with each
	// message ([Content].Version). [Templates.Put] makes it.
	Version string
	// Default is the locale of those for whom nothing nearer is there; required.
	Default string
	// Locales has the templates by BCP 47 tag, at least that of Default.
	Locales map[string]Template
}

// IsZero reports whether it holds no template.
func (s TemplateSet) IsZero() bool { return len(s.Locales) == 0 }

// Render is that of a [Localized]. It compiles the set each time, which is for previews.
func (s TemplateSet) Render(ctx context.Context, j Job, r Recipient) (Content, error) {
	l, err := s.Compile()
	if err != nil {
		return Content{}, err
	}
	return l.Render(ctx, j, r)
}

// Compile parses the templates once. The error lists every fault.
func (s TemplateSet) Compile() (*Localized, error) {
	l := &Localized{templates: map[language.Tag]compiledTemplate{}, version: s.Version}
	var faults []error
	for _, locale := range slices.Sorted(maps.Keys(s.Locales)) {
		tag, err := language.Parse(locale)
		if _, twice := l.templates[tag]; err == nil && twice {
			err = errors.New("it is there twice, in two spellings")
		}
		if err == nil {
			l.templates[tag], err = s.Locales[locale].compile()
		}
		if err != nil {
			faults = append(faults, fmt.Errorf("locale %.40q: %w", locale, err))
		}
	}
	var err error
	if l.otherwise, err = language.Parse(s.Default); err != nil {
		faults = append(faults, fmt.Errorf("locale %.40q: %w", s.Default, err))
	} else if _, ok := l.templates[l.otherwise]; !ok {
		faults = append(faults, fmt.Errorf("there is no template for %s, which is for everybody else", s.Default))
	}
	if len(faults) > 0 {
		return nil, fmt.Errorf("notify: templates: %w", errors.Join(faults...))
	}
	return l, nil
}

// TemplateSource gives the templates of a notification type in a tenant: a folder
// ([ReadTemplates]), a table ([Notifier.Templates]), or the host. It is asked for each
// message, from several goroutines, so keep what it has made.
type TemplateSource interface {
	// Templates answers with the zero value where there are none.
	Templates(ctx context.Context, scope Scope, notificationType string) (TemplateSet, error)
}

// FromSources is a [Renderer] with the templates of the first source that has some for
// the job's tenant and type: the table of what tenants wrote, say, before a folder of
// what they get otherwise. An error of a source, and no templates at all, are tried
// again. It panics on a nil source.
func FromSources(sources ...TemplateSource) Renderer {
	if slices.Contains(sources, nil) {
		panic("notify: FromSources: a source is nil")
	}
	return &sourced{sources: sources, compiled: map[compiledKey]*Localized{}}
}

type compiledKey struct {
	source                int
	scope                 Scope
	notification, version string
}

// sourced keeps what it has compiled, up to maxCompiled sets.
type sourced struct {
	sources  []TemplateSource
	mu       sync.Mutex
	compiled map[compiledKey]*Localized
}

const maxCompiled = 500

func (s *sourced) Render(ctx context.Context, j Job, r Recipient) (Content, error) {
	for i, source := range s.sources {
		set, err := source.Templates(ctx, j.Scope, j.Type)
		if err != nil {
			return Content{}, fmt.Errorf("notify: templates of type %q: %w", j.Type, err)
		}
		if set.IsZero() {
			continue
		}
		l, err := s.compile(compiledKey{i, j.Scope, j.Type, set.Version}, set)
		if err != nil {
			return Content{}, err
		}
		return l.Render(ctx, j, r)
	}
	return Content{}, fmt.Errorf("notify: no source has templates of type %q", j.Type)
}

// compile remembers sets that have a version.
func (s *sourced) compile(at compiledKey, set TemplateSet) (*Localized, error) {
	s.mu.Lock()
	known := s.compiled[at]
	s.mu.Unlock()
	if known != nil {
		return known, nil
	}
	l, err := set.Compile()
	if err != nil || set.Version == "" {
		return l, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.compiled) >= maxCompiled {
		clear(s.compiled)
	}
	s.compiled[at] = l
	return l, nil
}

// Templates are those that tenants wrote, in a table, and a [TemplateSource]. Each Put
// makes a new version, the newest that is not withdrawn counts, and versions stay. Its
// methods may be called from any number of goroutines.
type Templates struct{ *core }

// Templates gives the stored templates.
func (n *Notifier) Templates() Templates { return Templates{n.core} }

// templateRow is one version of the templates of a type, its Kind. The Key sorts the
// newest first. It is never due.
type templateRow struct {
	storage.Record
	Number    int         `db:"number,fixed"`
	Set       TemplateSet `db:"templates,fixed,json,content"`
	CreatedOn time.Time   `db:"created_on,fixed"`
}

var storedTemplates = driver.Define[templateRow]("message_template").Grows(driver.WithEntities).
	Kept(driver.Always, "what tenants have written").Limit(1 << 20)

const statusWithdrawn = "Withdrawn"

var templateStates = states.Machine{
	Name:     "MessageTemplate",
	Start:    []string{statusActive},
	Edges:    []states.Edge{{From: statusActive, To: statusWithdrawn, Event: "withdrawn by a person"}},
	Terminal: []string{statusWithdrawn},
}

// maxTemplates bounds the versions of a type, and maxTemplateSet a set in bytes.
const (
	maxTemplates   = 999_999
	maxTemplateSet = 512 << 10
)

func templateKey(notificationType string, number int) (string, error) {
	return keys.Join(notificationType, fmt.Sprintf("%06d", maxTemplates-number))
}

// Put stores a set as the newest version of a type, and returns the version; a set that
// equals the newest is that one. What does not compile, or has more than 512 KiB, is
// refused with every fault, and nothing is written. Who did it and why is in the audit.
// Processes see it within five seconds.
func (t Templates) Put(ctx context.Context, scope Scope, notificationType string, set TemplateSet, by By) (version string, err error) {
	if err := by.Check(); err != nil {
		return "", err
	}
	set.Version = ""
	if _, err := set.Compile(); err != nil {
		return "", err
	}
	if size := len(mustJSON(set)); size > maxTemplateSet {
		return "", fmt.Errorf("notify: templates have %d bytes, more than %d", size, maxTemplateSet)
	}
	err = driver.Again("the templates", func() error {
		return t.inTx(ctx, nil, func(tx storage.Tx) (err error) {
			version, err = t.put(ctx, tx, scope, notificationType, set, by)
			return err
		})
	})
	t.templates.forget(scope, notificationType)
	return version, err
}

func (t Templates) put(ctx context.Context, tx storage.Tx, scope Scope, notificationType string, set TemplateSet, by By) (string, error) {
	newest, err := t.newest(ctx, tx, scope, notificationType)
	if err != nil {
		return "", err
	}
	row := &templateRow{Number: 1, Set: set, CreatedOn: driver.Now(t.store)}
	if newest != nil {
		row.Number = newest.Number + 1
		if newest.Status == statusActive && string(mustJSON(newest.Set)) == string(mustJSON(set)) {
			return strconv.Itoa(newest.Number), nil
		}
	}
	key, err := templateKey(notificationType, row.Number)
	if err != nil {
		return "", err
	}
	row.Record = storage.Record{Scope: scope, Key: key, Kind: notificationType, Status: statusActive}
	isNew, err := storedTemplates.Insert(ctx, tx, row)
	switch {
	case err != nil:
		return "", err
	case !isNew[0]: // somebody else made this version
		return "", storage.ErrStale
	}
	return strconv.Itoa(row.Number), audit.Write(ctx, tx, &audit.Entry{
		Record: storage.Record{Scope: scope}, Subject: storedTemplates.Name, SubjectKey: key, SubjectID: row.ID, SubjectVersion: row.Version,
		Action: "Put", Actor: by.Actor, Reason: by.Reason, To: statusActive, On: row.CreatedOn,
	})
}

// newest is the newest version that meets the conditions; nil: there is none.
func (t Templates) newest(ctx context.Context, from driver.Reader, scope Scope, notificationType string, which ...driver.Cond) (*templateRow, error) {
	within, err := under(notificationType)
	if err != nil {
		return nil, err
	}
	rows, err := storedTemplates.Find(ctx, from, scope, driver.Query{Where: append(within, which...), OrderBy: "key", Limit: 1})
	if err != nil || len(rows) == 0 {
		return nil, err
	}
	return rows[0], nil
}

// Withdraw ends a version: the one before it counts. Messages that were rendered keep
// what they say. One that is not in force is an [ErrActionRefused].
func (t Templates) Withdraw(ctx context.Context, scope Scope, notificationType, version string, by By) error {
	key, err := t.keyOf(notificationType, version)
	if err != nil {
		return err
	}
	err = t.inTx(ctx, nil, func(tx storage.Tx) error {
		return audit.Change(ctx, tx, storedTemplates, scope, key, "Withdraw", by, func(r *templateRow, _ time.Time) (refused string) {
			if r.Status != statusActive {
				return "it is withdrawn already"
			}
			templateStates.Must(r.Status, statusWithdrawn)
			r.Status = statusWithdrawn
			return ""
		})
	})
	t.templates.forget(scope, notificationType)
	return err
}

// TemplateVersion is one version of the templates of a type.
type TemplateVersion struct {
	Version   string
	CreatedOn time.Time
	Withdrawn bool
}

// Versions lists the last thousand versions of a type, the newest first.
func (t Templates) Versions(ctx context.Context, scope Scope, notificationType string) ([]TemplateVersion, error) {
	within, err := under(notificationType)
	if err != nil {
		return nil, err
	}
	var rows []*templateRow
	err = t.read(ctx, nil, func(from driver.Reader) (err error) {
		rows, err = storedTemplates.Find(ctx, from, scope, driver.Query{Columns: []string{"status", "number", "created_on"}, Where: within, OrderBy: "key", Limit: maxPage})
		return err
	})
	out := make([]TemplateVersion, len(rows))
	for i, r := range rows {
		out[i] = TemplateVersion{strconv.Itoa(r.Number), r.CreatedOn, r.Status == statusWithdrawn}
	}
	return out, err
}

// At is a version of a type, withdrawn or not; [storage.ErrNotFound] if there is none.
func (t Templates) At(ctx context.Context, scope Scope, notificationType, version string) (set TemplateSet, err error) {
	key, err := t.keyOf(notificationType, version)
	if err != nil {
		return set, err
	}
	err = t.read(ctx, nil, func(from driver.Reader) error {
		row, err := storedTemplates.Get(ctx, from, scope, key)
		if err == nil {
			set = row.set()
		}
		return err
	})
	return set, err
}

func (t Templates) keyOf(notificationType, version string) (string, error) {
	number, err := strconv.Atoi(version)
	if err != nil || number < 1 || number > maxTemplates || strconv.Itoa(number) != version {
		return "", fmt.Errorf("notify: %.40q is no version of templates: %w", version, storage.ErrNotFound)
	}
	return templateKey(notificationType, number)
}

func (r *templateRow) set() TemplateSet {
	set := r.Set
	set.Version = strconv.Itoa(r.Number)
	return set
}

// Templates are those in force. What was read is kept for five seconds.
func (t Templates) Templates(ctx context.Context, scope Scope, notificationType string) (TemplateSet, error) {
	now := driver.Now(t.store)
	if set, ok := t.templates.known(scope, notificationType, now); ok && t.tx == nil {
		return set, nil
	}
	var set TemplateSet
	err := t.read(ctx, nil, func(from driver.Reader) error {
		row, err := t.newest(ctx, from, scope, notificationType, driver.Eq("status", statusActive))
		if row != nil {
			set = row.set()
		}
		return err
	})
	if err == nil && t.tx == nil {
		t.templates.keep(scope, notificationType, set, now)
	}
	return set, err
}

// templateMemory is what was read of the table of late.
type templateMemory struct {
	mu   sync.Mutex
	sets map[driver.Place]remembered
}

type remembered struct {
	set TemplateSet
	on  time.Time
}

const rememberTemplates = 5 * time.Second

func (m *templateMemory) known(scope Scope, notificationType string, now time.Time) (TemplateSet, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	r, ok := m.sets[driver.Place{Scope: scope, Key: notificationType}]
	return r.set, ok && now.Sub(r.on) < rememberTemplates
}

func (m *templateMemory) keep(scope Scope, notificationType string, set TemplateSet, now time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.sets == nil || len(m.sets) >= maxCompiled {
		m.sets = map[driver.Place]remembered{}
	}
	m.sets[driver.Place{Scope: scope, Key: notificationType}] = remembered{set, now}
}

func (m *templateMemory) forget(scope Scope, notificationType string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.sets, driver.Place{Scope: scope, Key: notificationType})
}

var _ TemplateSource = Templates{}
