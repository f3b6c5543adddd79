package audit

import (
	"context"
	"encoding/base64"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/driver"
)

// Personal is the personal data of the audit, which can be erased while the entries stay:
// the row behind a pseudonym, a person who acted, or their words. Its Kind says which. It
// is never due, claimed or written again.
type Personal struct {
	storage.Record
	// Pseudonym names a row or an actor in entries. It is random and used nowhere else. The
	// words of an entry have the entry's key.
	Pseudonym string `db:"pseudonym,fixed,null,indexed,plain"`
	// Text is the name of an actor, or the words of one. A row is named by its key.
	Text string    `db:"text,fixed,null,content"`
	On   time.Time `db:"done_on,fixed"` // of the first entry, or of the one whose words these are
}

// The kinds of personal rows, which begin their keys.
const (
	kindRow   = "row"
	kindWords = "words"
	kindActor = "actor"
)

// People has the personal rows. Only Write inserts into it.
var People = driver.Define[Personal]("audit_person").Grows(driver.WithWork).
	Kept("Retention.Audit", "the row, actor and words of entries; without them an entry has no personal data").
	Erased("deleted, and the entries stay").Limit(8 << 10).Deciding("pseudonym")

// rowsKey is what the keys of all that is told of the rows of one key are under: those of
// no other key, since its length comes first.
func rowsKey(subject, subjectKey string) string {
	return fmt.Sprintf("%s\x1f%s\x1f%04d\x1f%s", kindRow, subject, len(subjectKey), subjectKey)
}

// rowKey is the key of an entry's row, and wordsKey that of its words: a row that was
// deleted and made again is another one, behind the old one.
func (e *Entry) rowKey() string {
	return rowsKey(e.Subject, e.SubjectKey) + fmt.Sprintf("\x1f%019d", e.SubjectID)
}

func (e *Entry) wordsKey() string { return e.rowKey() + fmt.Sprintf("\x1f%019d", e.SubjectVersion) }

func actorKey(name string) string { return kindActor + "\x1f" + name }

// hide gives entries the pseudonyms of their rows and actors, and puts what tells of
// people where it can be erased.
func hide(ctx context.Context, tx storage.Tx, entries []*Entry) error {
	known, err := pseudonyms(ctx, tx, entries)
	if err != nil {
		return err
	}
	var words []*Personal
	for _, e := range entries {
		e.Key = fmt.Sprintf("%s\x1f%019d", known[e.row()], e.SubjectVersion)
		if e.ByProgram {
			e.Program, e.Code = e.Actor, e.Reason
			continue
		}
		e.Person = known[e.actor()]
		words = append(words, &Personal{Record: e.record(kindWords, e.wordsKey()), Pseudonym: e.Key, Text: e.Reason, On: e.On})
	}
	if len(words) > 0 {
		_, err = People.Insert(ctx, tx, words...)
	}
	return err
}

// pseudonyms are those of the rows and actors of entries, by where they are kept. New
// ones get one.
func pseudonyms(ctx context.Context, tx storage.Tx, entries []*Entry) (map[driver.ScopedKey]string, error) {
	var want []*Personal
	known := map[driver.ScopedKey]string{}
	add := func(p *Personal) (err error) {
		if _, has := known[People.ScopedKeyOf(p)]; has {
			return nil
		}
		known[People.ScopedKeyOf(p)] = ""
		want = append(want, p)
		p.Pseudonym, err = pseudonym(tx.Store())
		return err
	}
	for _, e := range entries {
		err := add(&Personal{Record: e.record(kindRow, e.rowKey()), On: e.On})
		if err == nil && !e.ByProgram {
			err = add(&Personal{Record: e.record(kindActor, actorKey(e.Actor)), Text: e.Actor, On: e.On})
		}
		if err != nil {
			return nil, err
		}
	}
	got, err := People.Ensure(ctx, tx, asItIs, want...)
	for _, one := range got {
		known[People.ScopedKeyOf(one.Row)] = one.Row.Pseudonym
	}
	return known, err
}

func (e *Entry) record(kind, key string) storage.Record {
	return storage.Record{Scope: e.Scope, Key: key, Kind: kind}
}

func (e *Entry) row() driver.ScopedKey { return driver.ScopedKey{Scope: e.Scope, Key: e.rowKey()} }

func (e *Entry) actor() driver.ScopedKey {
	return driver.ScopedKey{Scope: e.Scope, Key: actorKey(e.Actor)}
}

// asItIs leaves who is known as they are.
func asItIs(*Personal, *Personal) (storage.Outcome, bool) { return storage.Unchanged, false }

// pseudonym is a new one, of 22 characters.
func pseudonym(store driver.Store) (string, error) {
	random := make([]byte, 16)
	if _, err := io.ReadFull(store.Rand(), random); err != nil {
		return "", fmt.Errorf("audit: a pseudonym: %w", err)
	}
	return base64.RawURLEncoding.EncodeToString(random), nil
}

// show fills in what entries do not have themselves: who did it, and in what words.
func show(ctx context.Context, from driver.Reader, scope storage.Scope, entries []*Entry) error {
	var hidden []string
	for _, e := range entries {
		if e.Person == "" {
			e.ByProgram, e.Actor, e.Reason = true, e.Program, e.Code
			continue
		}
		hidden = append(hidden, e.Person, e.Key)
	}
	if len(hidden) == 0 {
		return nil
	}
	told, err := People.Find(ctx, from, scope, driver.Query{
		Where:   []driver.Cond{driver.In("pseudonym", hidden), driver.NotNull("pseudonym")},
		Columns: []string{"pseudonym", "text"}, Limit: len(hidden), Unordered: true,
	})
	texts := map[string]string{}
	for _, p := range told {
		texts[p.Pseudonym] = p.Text
	}
	for _, e := range entries {
		if e.Person != "" {
			e.Actor, e.Reason = texts[e.Person], texts[e.Key]
		}
	}
	return err
}

// name fills in to which rows entries belong, of which only the pseudonym is known. Rows
// that were erased stay without a name.
func name(ctx context.Context, from driver.Reader, scope storage.Scope, entries []*Entry) error {
	of := map[string][]*Entry{}
	for _, e := range entries {
		row, _, _ := strings.Cut(e.Key, "\x1f")
		of[row] = append(of[row], e)
	}
	if len(of) == 0 {
		return nil
	}
	named, err := People.Find(ctx, from, scope, driver.Query{
		Where:   []driver.Cond{driver.In("pseudonym", slices.Collect(maps.Keys(of))), driver.NotNull("pseudonym")},
		Columns: []string{"key", "pseudonym"}, Limit: len(of), Unordered: true,
	})
	for _, p := range named {
		for _, e := range of[p.Pseudonym] {
			e.SubjectKey, e.SubjectID = p.subjectKey(), p.subjectID()
		}
	}
	return err
}

// erasePage is how many rows Forget deletes at most, with what else a transaction does
// less than 1,000.
const erasePage = 400

// Forget erases the link from entries to the rows of subject (a table) under keys, and
// the words of actors; the entries stay, without personal data. It deletes at most 400
// rows. Call it again, in another transaction, until it reports that there were none.
// Entries written meanwhile begin a new history, which a later call finds.
func Forget(ctx context.Context, tx storage.Tx, scope storage.Scope, subject string, subjectKeys ...string) (some bool, err error) {
	places := make([]driver.ScopedKey, len(subjectKeys))
	for i, key := range subjectKeys {
		places[i] = driver.ScopedKey{Scope: scope, Key: rowsKey(subject, key)}
	}
	told, err := People.HasChildren(ctx, tx, places)
	if err != nil {
		return false, err
	}
	left := erasePage
	for i, at := range places {
		if !told[i] || left == 0 {
			continue
		}
		rows, err := People.Find(ctx, tx, scope, driver.Query{Where: driver.ChildrenOf(at.Key), OrderBy: "key", Limit: left})
		if err != nil {
			return false, err
		}
		if err := People.Delete(ctx, tx, rows...); err != nil {
			return false, err
		}
		left -= len(rows)
	}
	return left < erasePage, nil
}

// ForgetAll is [Forget] until there are none, for rows of which little is told: it is one
// transaction.
func ForgetAll(ctx context.Context, tx storage.Tx, scope storage.Scope, subject string, subjectKeys ...string) error {
	for some := len(subjectKeys) > 0; some; {
		var err error
		if some, err = Forget(ctx, tx, scope, subject, subjectKeys...); err != nil {
			return err
		}
	}
	return nil
}

// ForgetActor erases the name of an actor. Entries keep a pseudonym that cannot be
// resolved any more.
func ForgetActor(ctx context.Context, tx storage.Tx, scope storage.Scope, actor string) error {
	rows, err := People.Find(ctx, tx, scope, driver.Query{Where: []driver.Cond{driver.Eq("key", actorKey(actor))}, Limit: 1})
	if err != nil {
		return err
	}
	return People.Delete(ctx, tx, rows...)
}

// Orphans returns which of rows, all as old as a deleted entry, are not needed by a
// remaining entry.
func Orphans(ctx context.Context, from driver.Reader, rows []*Personal) ([]bool, error) {
	out, places, named := make([]bool, len(rows)), []driver.ScopedKey{}, []int{}
	for i, p := range rows {
		switch p.Kind {
		case kindWords: // as old as their entry
			out[i] = true
		case kindRow:
			places, named = append(places, driver.ScopedKey{Scope: p.Scope, Key: p.Pseudonym}), append(named, i)
		default: // there are few
			n, err := Table.Count(ctx, from, p.Scope, 1, driver.Eq("person", p.Pseudonym))
			if err != nil {
				return nil, err
			}
			out[i] = n == 0
		}
	}
	left, err := Table.HasChildren(ctx, from, places)
	if err != nil {
		return nil, err
	}
	for n, i := range named {
		out[i] = !left[n]
	}
	return out, nil
}

// subjectKey is the key of the row that a key names.
func (p *Personal) subjectKey() string {
	parts := strings.SplitN(p.Key, "\x1f", 4) // the kind, the table, the length of the key, the key and the ID
	n, err := strconv.Atoi(parts[min(2, len(parts)-1)])
	if err != nil || len(parts) < 4 || n > len(parts[3]) {
		return ""
	}
	return parts[3][:n]
}

// subjectID is the ID of the row that a key names, from the end of the key.
func (p *Personal) subjectID() int64 {
	id, _ := strconv.ParseInt(p.Key[strings.LastIndexByte(p.Key, '\x1f')+1:], 10, 64)
	return id
}
