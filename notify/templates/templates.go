// Package templates makes a [notify.Renderer] of message texts by locale and version. The
// texts come from a folder of files, from a table of the tenants' own texts, or from the
// host.
package templates

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
	"sync"

	"golang.org/x/text/language"

	"github.com/belfry-go/belfry/keys"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/storage"
)

// Set is one version of the texts of a notification type: a [notify.Template] for each
// locale.
type Set struct {
	// Version distinguishes it from other sets of the type in a tenant. It is stored with
	// each message ([notify.Content].Version). [Table.Put] sets it.
	Version string
	// Default is the locale for recipients without a nearer one; required.
	Default string
	// Locales has the templates by BCP 47 tag, at least for Default.
	Locales map[string]notify.Template
}

// IsZero reports whether it has no templates.
func (s Set) IsZero() bool { return len(s.Locales) == 0 }

// Render compiles the set and renders a message. Use it for previews only, since it
// compiles each time.
func (s Set) Render(ctx context.Context, j notify.Job, r notify.Recipient) (notify.Content, error) {
	l, err := s.compile()
	if err != nil {
		return notify.Content{}, err
	}
	return l.Render(ctx, j, r)
}

// Compile parses the templates once. The error lists all faults.
//
// The renderer uses the recipient's locale, then its parents (pt-BR, then pt), then the
// nearest one in the same language and script (zh-Hans for zh-CN), then Default.
// [notify.Content].Locale says which one was used, and Missing which ones were not found.
func (s Set) Compile() (notify.Renderer, error) {
	l, err := s.compile()
	if err != nil {
		return nil, err
	}
	return l, nil
}

func (s Set) compile() (*localized, error) {
	l := &localized{templates: map[language.Tag]notify.Renderer{}, version: s.Version}
	var faults []error
	for _, locale := range slices.Sorted(maps.Keys(s.Locales)) {
		tag, err := language.Parse(locale)
		if _, twice := l.templates[tag]; err == nil && twice {
			err = errors.New("the locale occurs twice, in two spellings")
		}
		if err == nil {
			l.templates[tag], err = s.Locales[locale].Compile()
		}
		if err != nil {
			faults = append(faults, fmt.Errorf("locale %.40q: %w", locale, err))
		}
	}
	var err error
	if l.otherwise, err = language.Parse(s.Default); err != nil {
		faults = append(faults, fmt.Errorf("locale %.40q: %w", s.Default, err))
	} else if _, ok := l.templates[l.otherwise]; !ok {
		faults = append(faults, fmt.Errorf("the default locale %s has no template", s.Default))
	}
	if len(faults) > 0 {
		return nil, fmt.Errorf("templates: %w", errors.Join(faults...))
	}
	return l, nil
}

// localized has the templates of a set.
type localized struct {
	templates map[language.Tag]notify.Renderer
	otherwise language.Tag
	version   string
}

func (l *localized) Render(ctx context.Context, j notify.Job, r notify.Recipient) (notify.Content, error) {
	var missing []string
	for _, tag := range l.chain(r.Locale) {
		t, ok := l.templates[tag]
		if !ok {
			missing = append(missing, tag.String())
			continue
		}
		r.Locale = tag.String()
		content, err := t.Render(ctx, j, r)
		content.Missing, content.Version = missing, l.version
		return content, err
	}
	return notify.Content{}, fmt.Errorf("templates: no template for locale %.40q", r.Locale) // cannot happen: Compile has checked it
}

// chain lists the locales to try; an invalid tag is skipped. A reader of one script does
// not get another script, except by default.
func (l *localized) chain(locale string) []language.Tag {
	var out []language.Tag
	asked, err := language.Parse(locale)
	if err != nil {
		return append(out, l.otherwise)
	}
	for tag := asked; tag != language.Und; tag = tag.Parent() {
		if sameScript(tag, asked) {
			out = append(out, tag)
		}
	}
	if tag, ok := l.nearest(asked); ok {
		out = append(out, tag)
	}
	return append(out, l.otherwise)
}

// nearest is a template in the same language and script; script or region may be missing
// on either side: "zh-Hans" for "zh-CN".
func (l *localized) nearest(asked language.Tag) (language.Tag, bool) {
	var among []language.Tag
	for tag := range l.templates {
		if sameLanguage(tag, asked) && sameScript(tag, asked) {
			among = append(among, tag)
		}
	}
	if len(among) == 0 {
		return language.Und, false
	}
	slices.SortFunc(among, func(a, b language.Tag) int { return strings.Compare(a.String(), b.String()) })
	_, i, _ := language.NewMatcher(among).Match(asked)
	return among[i], true
}

// sameLanguage reports whether two tags are of one language, by any of its codes.
func sameLanguage(a, b language.Tag) bool {
	base := func(t language.Tag) language.Base {
		if whole, err := language.All.Canonicalize(t); err == nil {
			t = whole
		}
		base, _ := t.Base()
		return base
	}
	return base(a) == base(b)
}

// sameScript reports whether two tags are in one script. A tag without a script has the
// usual one of its language and region.
func sameScript(a, b language.Tag) bool {
	ofA, _ := a.Script()
	ofB, _ := b.Script()
	return ofA == ofB
}

// Source returns the templates of a notification type in a tenant: a folder ([Read]), a
// [Table], or the host. It is called for each message, from several goroutines, so cache
// its results.
type Source interface {
	// Templates returns the zero value if there are none.
	Templates(ctx context.Context, scope storage.Scope, notificationType string) (Set, error)
}

// From returns a Renderer with the templates of the first source that has some for the
// job's tenant and type, such as a table of the tenants' own texts before a folder of
// defaults. After an error of a source, and without any templates, the message is
// retried. It panics on a nil source.
func From(sources ...Source) notify.Renderer {
	if slices.Contains(sources, nil) {
		panic("templates: From: a source is nil")
	}
	return &sourced{sources: sources, compiled: map[compiledKey]*localized{}}
}

type compiledKey struct {
	source                int
	scope                 storage.Scope
	notification, version string
}

// sourced caches compiled sets, up to maxCompiled.
type sourced struct {
	sources  []Source
	mu       sync.Mutex
	compiled map[compiledKey]*localized
}

const maxCompiled = 500

func (s *sourced) Render(ctx context.Context, j notify.Job, r notify.Recipient) (notify.Content, error) {
	for i, source := range s.sources {
		set, err := source.Templates(ctx, j.Scope, j.Type)
		if err != nil {
			return notify.Content{}, fmt.Errorf("templates of type %q: %w", j.Type, err)
		}
		if set.IsZero() {
			continue
		}
		l, err := s.compile(compiledKey{i, j.Scope, j.Type, set.Version}, set)
		if err != nil {
			return notify.Content{}, err
		}
		return l.Render(ctx, j, r)
	}
	return notify.Content{}, fmt.Errorf("templates: no source has templates of type %q", j.Type)
}

// compile caches sets that have a version.
func (s *sourced) compile(at compiledKey, set Set) (*localized, error) {
	s.mu.Lock()
	known := s.compiled[at]
	s.mu.Unlock()
	if known != nil {
		return known, nil
	}
	l, err := set.compile()
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

// Parse reads the templates of one notification type from a folder: one file for each
// part and locale, named {part}.{locale}.tmpl, where a part is subject, text or html and
// a locale is a BCP 47 tag:
//
//	visit/subject.en.tmpl  visit/text.en.tmpl  visit/html.en.tmpl  visit/subject.pt-BR.tmpl
//
// otherwise is the [Set].Default; it must be among the files. The error lists all faults
// in the folder.
func Parse(files fs.FS, dir, otherwise string) (notify.Renderer, error) {
	set, err := readSet(files, dir, otherwise)
	l, fault := set.compile()
	if err = errors.Join(err, fault); err != nil {
		return nil, fmt.Errorf("templates in %s: %w", dir, err)
	}
	return l, nil
}

// folder has the sets by type.
type folder map[string]Set

func (f folder) Templates(_ context.Context, _ storage.Scope, notificationType string) (Set, error) {
	return f[notificationType], nil
}

// Read reads the templates of all tenants from a folder, such as an embedded one: a
// folder for each notification type, with files as [Parse] has them. otherwise is the
// default locale of all. The version is a hash of the files. The error lists all faults.
func Read(files fs.FS, otherwise string) (Source, error) {
	dirs, err := fs.ReadDir(files, ".")
	if err != nil {
		return nil, fmt.Errorf("templates: %w", err)
	}
	out, faults := folder{}, []error(nil)
	for _, d := range dirs {
		if !d.IsDir() {
			continue
		}
		set, err := readSet(files, d.Name(), otherwise)
		if err == nil {
			_, err = set.compile()
		}
		if err != nil {
			faults = append(faults, fmt.Errorf("%s: %w", d.Name(), err))
		}
		sum := keys.Sum("belfry-templates-1", string(set.json()))
		set.Version = hex.EncodeToString(sum[:6])
		out[d.Name()] = set
	}
	return out, errors.Join(faults...)
}

// json is the stored form of the set.
func (s Set) json() []byte {
	b, err := json.Marshal(s)
	if err != nil {
		panic(err) // it consists of texts
	}
	return b
}

// readSet reads the files of one type.
func readSet(files fs.FS, dir, otherwise string) (Set, error) {
	set := Set{Default: otherwise, Locales: map[string]notify.Template{}}
	names, err := fs.Glob(files, path.Join(dir, "*.tmpl"))
	if err != nil {
		return set, fmt.Errorf("templates in %s: %w", dir, err)
	}
	parts := map[language.Tag]*notify.Template{}
	var faults []error
	for _, name := range names {
		if err := readPart(files, name, parts); err != nil {
			faults = append(faults, fmt.Errorf("%s: %w", name, err))
		}
	}
	for tag, t := range parts {
		set.Locales[tag.String()] = *t
	}
	return set, errors.Join(faults...)
}

func readPart(files fs.FS, name string, parts map[language.Tag]*notify.Template) error {
	fields := strings.Split(path.Base(name), ".")
	if len(fields) != 3 {
		return errors.New("the file must be named {part}.{locale}.tmpl")
	}
	tag, err := language.Parse(fields[1])
	if err != nil {
		return fmt.Errorf("locale %.40q: %w", fields[1], err)
	}
	text, err := fs.ReadFile(files, name)
	if err != nil {
		return err
	}
	if parts[tag] == nil {
		parts[tag] = &notify.Template{}
	}
	switch t := parts[tag]; fields[0] {
	case "subject":
		t.Subject = strings.TrimSpace(string(text)) // the last line break comes from the editor
	case "text":
		t.Text = string(text)
	case "html":
		t.HTML = string(text)
	default:
		return fmt.Errorf("the part is %.40q, but must be subject, text or html", fields[0])
	}
	return nil
}
