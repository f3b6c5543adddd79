package survey

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/benbjohnson/clock"
	"github.com/google/go-cmp/cmp"

	"github.com/belfry-go/belfry/internal/owned"
	"github.com/belfry-go/belfry/internal/storetest"
	"github.com/belfry-go/belfry/internal/work"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/driver"
	"github.com/belfry-go/belfry/storage/memory"
)

// titled publishes a version that tells itself by its title.
func titled(t *testing.T, s *Service, scope Scope, id int64, title string) versionRef {
	t.Helper()
	got, err := s.Publish(t.Context(), Version{Scope: scope, SurveyID: id, Definition: json.RawMessage(`{"title": "` + title + `"}`)})
	if err != nil {
		t.Fatal(err)
	}
	return versionRef{scope, id, got.Number, got.ContentHash}
}

func (r versionRef) withoutHash() versionRef {
	r.ContentHash = ""
	return r
}

// inTransaction is a read.
func inTransaction(t *testing.T, s *Service, f func(storage.Tx)) {
	t.Helper()
	if err := s.inTx(t.Context(), func(tx storage.Tx) error { f(tx); return nil }); err != nil {
		t.Fatal(err)
	}
}

func TestAVersionIsParsedOnceAndSharedByBoundCopies(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, store storage.Store, _ *clock.Mock) {
		s := New(store, nil, nil)
		one, two := titled(t, s, "", 1, "one"), titled(t, s, "", 1, "two")
		inTransaction(t, s, func(tx storage.Tx) {
			first, err := s.versionOf(t.Context(), tx, "", 1, 1)
			if err != nil || first.Title.For("") != "one" || first.Number != 1 || first.versionRow.Definition != nil {
				t.Fatalf("%+v, %v", first, err)
			}
			set, err := s.WithTx(tx).versionsOf(t.Context(), tx, one, two, one.withoutHash(), one)
			if err != nil || len(set) != 3 {
				t.Fatal(set, err)
			}
			for _, ref := range []versionRef{one, one.withoutHash()} {
				if v, err := set.of(ref); err != nil || v != first {
					t.Errorf("%+v was parsed again: %v", ref, err)
				}
			}
			if v, err := set.of(two); err != nil || v.Title.For("") != "two" {
				t.Error(v, err)
			}
			pinned := &instanceRow{SurveyID: 1, SurveyVersion: 1}
			if v, err := set.of(pinned.ref()); err != nil || v != first {
				t.Error(v, err)
			}
			if _, err := s.versionOf(t.Context(), tx, "", 1, 3); !errors.Is(err, storage.ErrNotFound) {
				t.Error(err)
			}
		})
	})
}

// Two tenants with the same survey and number, and even the same content, have each
// their own version.
func TestI28_TheCacheGivesNoTenantAnothersVersion(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, store storage.Store, _ *clock.Mock) {
		s := New(store, nil, nil)
		north, south, same := titled(t, s, "north", 1, "north"), titled(t, s, "south", 1, "south"), titled(t, s, "west", 1, "north")
		inTransaction(t, s, func(tx storage.Tx) {
			for range 2 {
				set, err := s.versionsOf(t.Context(), tx, north, south, same, south.withoutHash(), versionRef{"", 1, 1, north.ContentHash})
				if err != nil || len(set) != 4 {
					t.Fatal(set, err)
				}
				for ref, v := range set {
					if v.err != nil || v.Scope != ref.Scope || v.Title.For("") == "north" && ref.Scope == "south" {
						t.Errorf("%+v got that of %q: %v", ref, v.Scope, v.err)
					}
				}
			}
			if v, err := s.versionOf(t.Context(), tx, "", 1, 1); !errors.Is(err, storage.ErrNotFound) {
				t.Error(v, err)
			}
		})
	})
}

// What was read in a host's transaction that is rolled back is found by nobody whose
// version of that number says something else.
func TestARolledBackVersionIsNotServed(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, store storage.Store, _ *clock.Mock) {
		s := New(store, nil, nil)
		boom := errors.New("boom")
		err := store.InTx(t.Context(), func(tx storage.Tx) error {
			bound := s.WithTx(tx)
			titled(t, bound, "", 1, "never")
			if v, err := bound.versionOf(t.Context(), tx, "", 1, 1); err != nil || v.Title.For("") != "never" {
				t.Error(v, err)
			}
			return boom
		})
		if !errors.Is(err, boom) {
			t.Fatal(err)
		}
		titled(t, s, "", 1, "always")
		inTransaction(t, s, func(tx storage.Tx) {
			if v, err := s.versionOf(t.Context(), tx, "", 1, 1); err != nil || v.Title.For("") != "always" {
				t.Error(v, err)
			}
		})
	})
}

func TestParsedVersionsAreNotReadAgain(t *testing.T) {
	t.Parallel()
	store, calls := storetest.Counting(memory.New(nil))
	s := New(store, nil, nil)
	refs := make([]versionRef, 50)
	for i := range refs {
		refs[i] = titled(t, s, "", int64(i+1), "a")
	}
	const hashes, whole = "survey_version survey_id,number,content_hash", "survey_version "
	for _, step := range []struct {
		name string
		refs []versionRef
		want []string
	}{
		{"new", refs, []string{whole}},
		{"known", refs, nil},
		{"known, without their hashes", []versionRef{refs[0].withoutHash(), refs[1].withoutHash()}, []string{hashes}},
		{"none", nil, nil},
	} {
		inTransaction(t, s, func(tx storage.Tx) {
			calls.Take()
			set, err := s.versionsOf(t.Context(), tx, step.refs...)
			var reads []string
			for _, c := range calls.Take() {
				reads = append(reads, c.Table+" "+strings.Join(c.Columns, ","))
			}
			if diff := cmp.Diff(step.want, reads); diff != "" || err != nil || len(set) != len(step.refs) {
				t.Error(step.name, err, diff)
			}
		})
	}
}

func TestTheCacheIsBounded(t *testing.T) {
	t.Parallel()
	c := newVersionCache()
	c.limit = 3 * (1000 + versionOverhead)
	ref := func(i int) versionRef { return versionRef{Number: int64(i)} }
	for i := range 100 {
		c.add(ref(i), &version{}, 1000)
		c.get(ref(0)) // used again and again
	}
	var kept []int
	for i := range 100 {
		if c.get(ref(i)) != nil {
			kept = append(kept, i)
		}
	}
	if diff := cmp.Diff([]int{0, 98, 99}, kept); diff != "" || c.size > c.limit || len(c.entries) != 3 {
		t.Error(c.size, diff)
	}
	c.add(ref(200), &version{}, 10*c.limit)
	if c.get(ref(200)) == nil || len(c.entries) != 1 {
		t.Error("one that is larger than the bound is not kept alone")
	}
}

func TestReadersAtOnceShareOneVersion(t *testing.T) {
	t.Parallel()
	c := newVersionCache()
	got := make([]*version, 20)
	var all sync.WaitGroup
	for i := range got {
		all.Go(func() { got[i] = c.add(versionRef{Number: 1}, &version{}, 1) })
	}
	all.Wait()
	for i := range got {
		if got[i] != got[0] {
			t.Fatal("two versions are in use")
		}
	}
}

// A process of an earlier release takes a group in which one row's version has a
// filter, a duration or a text that it does not know: the others are sent all the
// same, instead of failing with it.
func TestAVersionOfALaterReleaseHarmsNoOtherSend(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, store storage.Store, _ *clock.Mock) {
		s := New(store, nil, nil)
		good := titled(t, s, "", 1, "good")
		items := []work.Item[instanceRow]{{Row: &instanceRow{SurveyID: 1, SurveyVersion: good.Number}}}
		inTransaction(t, s, func(tx storage.Tx) {
			for i, definition := range []string{
				`{"questions": [{"id": "q", "type": "date", "when": {"questionId": "p", "op": "soundsLike", "value": "a"}}]}`,
				`{"triggers": [{"id": "t", "expiryGrace": "1 moon"}]}`,
				`{"title": 7}`,
			} {
				number := int64(7 + i)
				row := &versionRow{Record: storage.Record{Key: versionKey(1, number)}, SurveyID: 1, Number: number, ContentHash: "h", Definition: json.RawMessage(definition)}
				if _, err := versions.Insert(t.Context(), tx, row); err != nil {
					t.Error(err)
				}
				items = append(items, work.Item[instanceRow]{Row: &instanceRow{SurveyID: 1, SurveyVersion: number}})
			}
		})
		got, err := s.pinned(t.Context(), items)
		if err != nil {
			t.Fatal("the whole group fails:", err)
		}
		for i, it := range got {
			if (it.version != nil) != (i == 0) {
				t.Errorf("row %d has the version %v", i, it.version)
			}
		}
	})
}

// The rows of a survey's triggers name the published version and its hash; those of
// its neighbours are not touched. A row that is in use no more stays, without a kind.
func TestTheRowsOfTriggersFollowTheVersion(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, store storage.Store, _ *clock.Mock) {
		s := New(store, nil, nil)
		publish := func(id int64, triggers string) string {
			got, err := s.Publish(t.Context(), Version{SurveyID: id, Definition: json.RawMessage(`{"triggers": [` + triggers + `]}`)})
			if err != nil {
				t.Fatal(err)
			}
			return got.ContentHash
		}
		trigger := func(id string, enabled bool) string {
			return fmt.Sprintf(`{"id": %q, "enabled": %v, "eventKind": "visit", "dedupRecipe": ["templateId"], "schedule": {"initialDelay": "0d"}, "channel": "a:b"}`, id, enabled)
		}
		left, right := publish(45, trigger("t", true)), publish(4523, trigger("t", true))
		publish(452, trigger("a", true)+","+trigger("z.9_-", true)+","+trigger("off", false))
		hash := publish(452, trigger("z.9_-", true)+","+trigger("new", true))

		type row struct {
			Survey            int64
			ID, Kind, Content string
			Version           int64
		}
		want := []row{
			{45, "t", "visit", left, 1}, {452, "a", "", "", 1}, {452, "new", "visit", hash, 2}, {452, "z.9_-", "visit", hash, 2}, {4523, "t", "visit", right, 1},
		}
		inTransaction(t, s, func(tx storage.Tx) {
			rows, err := triggers.Find(t.Context(), tx, "", driver.Query{OrderBy: "key", Limit: 10})
			var got []row
			for _, r := range rows {
				if r.EventKind == "" {
					r.ContentHash = "" // of whichever version it was in
				} else if v, err := s.versionsOf(t.Context(), tx, r.ref()); err != nil || v[r.ref()].version == nil {
					t.Error(r.TriggerID, err)
				}
				got = append(got, row{r.SurveyID, r.TriggerID, r.EventKind, r.ContentHash, r.VersionNumber})
			}
			if diff := cmp.Diff(want, got); diff != "" || err != nil {
				t.Error(err, diff)
			}
		})
	})
}

// What messages of many tenants are about is read together, and not tenant by tenant.
func TestLinksOfManyTenantsAreReadTogether(t *testing.T) {
	t.Parallel()
	store, calls := storetest.Counting(memory.New(nil))
	s := New(store, nil, nil)
	const tenants = 20
	messages, rows := make([]owned.Message, tenants), make([]*instanceRow, tenants)
	for i := range tenants {
		scope := Scope(fmt.Sprint("tenant", i))
		titled(t, s, scope, 1, "a")
		row := instanceRow{PublicID: fmt.Sprint("link", i), SurveyID: 1, SurveyVersion: 1}
		row.Scope, row.Key, row.Status = scope, fmt.Sprint("key", i), StatusPending
		rows[i], messages[i] = &row, owned.Message{Scope: scope, Key: row.messageKey()}
		inTransaction(t, s, func(tx storage.Tx) {
			if _, err := instances.Insert(t.Context(), tx, &row); err != nil {
				t.Fatal(err)
			}
		})
	}
	messages = append(messages, owned.Message{Scope: "tenant0", Key: rows[1].messageKey()}) // that link is another tenant's
	inTransaction(t, s, func(tx storage.Tx) {
		calls.Take()
		found, err := owner{s.core}.of(t.Context(), tx, messages)
		if err != nil || calls.Count() != 1 {
			t.Error("links take more than one statement", err)
		}
		for i, r := range found {
			if is := r != nil && r.Scope == messages[i].Scope; is != (i < tenants) {
				t.Errorf("message %d: %+v", i, r)
			}
		}
		calls.Take()
		versions, err := s.pinnedTo(t.Context(), tx, rows)
		if n := calls.Count(); err != nil || n > 2 || versions[rows[3].ref()] == nil {
			t.Errorf("%d statements for versions, %v", n, err)
		}
	})
}
