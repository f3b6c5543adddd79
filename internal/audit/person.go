package audit

import (
	"context"
	"encoding/base64"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/driver"
)

// Personal is what tells of people in the audit, so that it can go while the entries
// stay: which row a pseudonym stands for, or which person acted, and in what words. It
// is never due, claimed or written again. Its Kind says which it is.
type Personal struct {
	storage.Record
	// Pseudonym is what entries call a row or an actor: random, and told nowhere else.
	Pseudonym string `db:"pseudonym,fixed,null,plain"`
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

// People is where they are kept. Nothing but Write inserts into it.
var People = driver.Define[Personal]("audit_person").Grows(driver.WithWork).
	Kept("Retention.Audit", "which row, whose deed and in what words; without it an entry tells of nobody").
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
	var want []*Personal
	at := map[driver.Place]int{}
	for _, e := range entries {
		for _, p := range e.personal() {
			if place := People.PlaceOf(p); !has(at, place) {
				at[place] = len(want)
				want = append(want, p)
			}
		}
	}
	for _, p := range want {
		if p.Kind == kindWords {
			continue
		}
		var err error
		if p.Pseudonym, err = pseudonym(tx.Store()); err != nil {
			return err
		}
	}
	got, err := People.Ensure(ctx, tx, asItIs, want...)
	if err != nil {
		return err
	}
	of := func(p *Personal) string { return got[at[People.PlaceOf(p)]].Row.Pseudonym }
	for _, e := range entries {
		p := e.personal()
		e.Key = fmt.Sprintf("%s\x1f%019d", of(p[0]), e.SubjectVersion)
		if e.ByProgram {
			e.Program, e.Code = e.Actor, e.Reason
		} else {
			e.Person = of(p[1])
		}
	}
	return nil
}

func has(at map[driver.Place]int, place driver.Place) bool {
	_, ok := at[place]
	return ok
}

// asItIs leaves who is known as they are.
func asItIs(*Personal, *Personal) (storage.Outcome, bool) { return storage.Unchanged, false }

// personal is what an entry tells of people: its row, then, of a person's, who and why.
func (e *Entry) personal() []*Personal {
	one := func(kind, key, text string) *Personal {
		return &Personal{Record: storage.Record{Scope: e.Scope, Key: key, Kind: kind}, Text: text, On: e.On}
	}
	row := one(kindRow, e.rowKey(), "")
	if e.ByProgram {
		return []*Personal{row}
	}
	return []*Personal{row, one(kindActor, actorKey(e.Actor), e.Actor), one(kindWords, e.wordsKey(), e.Reason)}
}

// pseudonym is a new one, of 22 characters.
func pseudonym(store driver.Store) (string, error) {
	random := make([]byte, 16)
	if _, err := io.ReadFull(store.Rand(), random); err != nil {
		return "", fmt.Errorf("audit: a pseudonym: %w", err)
	}
	return base64.RawURLEncoding.EncodeToString(random), nil
}

// show fills in what entries do not have themselves: whose row it was is known.
func show(ctx context.Context, from driver.Reader, scope storage.Scope, entries []*Entry) error {
	var actors []string
	var words []driver.Place
	for _, e := range entries {
		if e.Person == "" {
			e.ByProgram, e.Actor, e.Reason = true, e.Program, e.Code
			continue
		}
		actors, words = append(actors, e.Person), append(words, driver.Place{Scope: scope, Key: e.wordsKey()})
	}
	if len(actors) == 0 {
		return nil
	}
	named, err := People.Find(ctx, from, scope, driver.Query{
		Where:   []driver.Cond{driver.In("pseudonym", actors), driver.NotNull("pseudonym"), driver.NotNull("text")},
		Columns: []string{"pseudonym", "text"}, Limit: len(actors), Unordered: true,
	})
	if err != nil {
		return err
	}
	names := map[string]string{}
	for _, p := range named {
		names[p.Pseudonym] = p.Text
	}
	said, err := People.GetMany(ctx, from, words, "text")
	for _, e := range entries {
		if e.Person != "" {
			e.Actor = names[e.Person]
			if p := said[driver.Place{Scope: scope, Key: e.wordsKey()}]; p != nil {
				e.Reason = p.Text
			}
		}
	}
	return err
}

// erasePage is how many rows Forget deletes at most, with what else a transaction does
// less than 1,000.
const erasePage = 400

// Forget erases what ties entries to the rows of subject (a table) under keys, and the
// words of whoever acted on them; the entries stay, and tell of nobody. It deletes at
// most 400 rows, and is to be called again, in another transaction, until it answers that
// there were none. What is written meanwhile begins a new history, which a later call
// finds.
func Forget(ctx context.Context, tx storage.Tx, scope storage.Scope, subject string, subjectKeys ...string) (some bool, err error) {
	places := make([]driver.Place, len(subjectKeys))
	for i, key := range subjectKeys {
		places[i] = driver.Place{Scope: scope, Key: rowsKey(subject, key)}
	}
	told, err := People.Under(ctx, tx, places)
	if err != nil {
		return false, err
	}
	left := erasePage
	for i, at := range places {
		if !told[i] || left == 0 {
			continue
		}
		rows, err := People.Find(ctx, tx, scope, driver.Query{Where: driver.Under(at.Key), OrderBy: "key", Limit: left})
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

// ForgetActor erases who somebody was that acted: entries call them by a pseudonym that
// nobody knows any more.
func ForgetActor(ctx context.Context, tx storage.Tx, scope storage.Scope, actor string) error {
	rows, err := People.Find(ctx, tx, scope, driver.Query{Where: []driver.Cond{driver.Eq("key", actorKey(actor))}, Limit: 1})
	if err != nil {
		return err
	}
	return People.Delete(ctx, tx, rows...)
}

// Orphans tells which of rows, which are as old as an entry that was forgotten, are
// needed by none that stays.
func Orphans(ctx context.Context, from driver.Reader, rows []*Personal) ([]bool, error) {
	out, places, named := make([]bool, len(rows)), []driver.Place{}, []int{}
	for i, p := range rows {
		switch p.Kind {
		case kindWords: // as old as their entry
			out[i] = true
		case kindRow:
			places, named = append(places, driver.Place{Scope: p.Scope, Key: p.Pseudonym}), append(named, i)
		default: // there are few
			n, err := Table.Count(ctx, from, p.Scope, 1, driver.Eq("person", p.Pseudonym))
			if err != nil {
				return nil, err
			}
			out[i] = n == 0
		}
	}
	left, err := Table.Under(ctx, from, places)
	if err != nil {
		return nil, err
	}
	for n, i := range named {
		out[i] = !left[n]
	}
	return out, nil
}

// subjectID is the ID of the row that a key names, from the end of the key.
func (p *Personal) subjectID() int64 {
	id, _ := strconv.ParseInt(p.Key[strings.LastIndexByte(p.Key, '\x1f')+1:], 10, 64)
	return id
}
