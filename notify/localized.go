package notify

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"golang.org/x/text/language"
)

// Localized is a [Renderer] that has a [Template] for each locale, and takes the
// one that is nearest to the recipient's.
type Localized struct {
	templates map[language.Tag]compiledTemplate
	otherwise language.Tag
}

// ParseLocalized reads the templates of one notification type from a folder: one
// file for each part and locale, named {part}.{locale}.tmpl, where a part is
// subject, text or html and a locale is a BCP 47 tag:
//
//	visit/subject.en.tmpl  visit/text.en.tmpl  visit/html.en.tmpl  visit/subject.pt-BR.tmpl
//
// otherwise is the locale of those for whom nothing nearer is there, and of
// those whose locale is unknown; it must be among the files. Every fault in the
// folder is listed.
func ParseLocalized(files fs.FS, dir, otherwise string) (*Localized, error) {
	names, err := fs.Glob(files, path.Join(dir, "*.tmpl"))
	if err != nil {
		return nil, fmt.Errorf("notify: templates in %s: %w", dir, err)
	}
	parts := map[language.Tag]*Template{}
	var faults []error
	for _, name := range names {
		if err := readPart(files, name, parts); err != nil {
			faults = append(faults, fmt.Errorf("%s: %w", name, err))
		}
	}
	l := &Localized{templates: map[language.Tag]compiledTemplate{}}
	for tag, t := range parts {
		if l.templates[tag], err = t.compile(); err != nil {
			faults = append(faults, fmt.Errorf("%s in %s: %w", dir, tag, err))
		}
	}
	if l.otherwise, err = language.Parse(otherwise); err != nil {
		faults = append(faults, fmt.Errorf("locale %.40q: %w", otherwise, err))
	} else if _, ok := parts[l.otherwise]; !ok {
		faults = append(faults, fmt.Errorf("there is no template in %s for %s, which is for everybody else", dir, l.otherwise))
	}
	if len(faults) > 0 {
		return nil, fmt.Errorf("notify: templates: %w", errors.Join(faults...))
	}
	return l, nil
}

func readPart(files fs.FS, name string, parts map[language.Tag]*Template) error {
	fields := strings.Split(path.Base(name), ".")
	if len(fields) != 3 {
		return errors.New("it is not named {part}.{locale}.tmpl")
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
		parts[tag] = &Template{}
	}
	switch t := parts[tag]; fields[0] {
	case "subject":
		t.Subject = strings.TrimSpace(string(text)) // an editor's last line break is none of it
	case "text":
		t.Text = string(text)
	case "html":
		t.HTML = string(text)
	default:
		return fmt.Errorf("%.40q is none of subject, text and html", fields[0])
	}
	return nil
}

// Render takes the recipient's locale, then its parents (pt-BR, then pt), then
// the one for everybody else. Content.Locale says which it was, and
// Content.Missing which were looked for in vain.
func (l *Localized) Render(ctx context.Context, j Job, r Recipient) (Content, error) {
	var missing []string
	for _, tag := range l.chain(r.Locale) {
		t, ok := l.templates[tag]
		if !ok {
			missing = append(missing, tag.String())
			continue
		}
		r.Locale = tag.String()
		content, err := t.Render(ctx, j, r)
		content.Missing = missing
		return content, err
	}
	return Content{}, fmt.Errorf("notify: there is no template for %.40q", r.Locale) // ParseLocalized has made sure of one
}

// chain are the locales to try; one that is no tag is passed over.
func (l *Localized) chain(locale string) []language.Tag {
	var out []language.Tag
	tag, err := language.Parse(locale)
	for ; err == nil && tag != language.Und; tag = tag.Parent() {
		out = append(out, tag)
	}
	return append(out, l.otherwise)
}
