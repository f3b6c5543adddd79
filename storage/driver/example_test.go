package driver_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/belfry-go/belfry/storage/driver"
	"github.com/belfry-go/belfry/storage/memory"
)

// Task is what a domain stores: what is due at times, and its own columns.
type Task struct {
	driver.Due
	Title  string   `db:"title"`
	Owner  string   `db:"owner,fixed"`      // written once, hence it may be indexed
	Labels []string `db:"labels,json,null"` // nil is NULL
	Error  string   `db:"last_error,null"`  // empty is NULL
	Notes  string   // no tag, no column
}

// tasks is the table; its CREATE TABLE is in the migrations of each database.
var tasks = driver.Define[Task]("task").Limit(8 << 10)

func task(key, title string, due time.Time) *Task {
	return &Task{Due: driver.Due{Record: driver.Record{Key: key, Status: "Pending"}, DueOn: due}, Title: title}
}

func ExampleDefine() {
	for _, c := range tasks.Columns[11:] { // behind those of Due
		fmt.Println(c.Name, "fixed:", c.Fixed, "null:", c.Null)
	}
	// Output:
	// title fixed: false null: false
	// owner fixed: true null: false
	// labels fixed: false null: true
	// last_error fixed: false null: true
}

func ExampleTable_Ensure() {
	ctx, store := context.Background(), memory.New(nil)
	rename := func(stored, want *Task) (driver.Outcome, bool) {
		if stored.Title == want.Title {
			return driver.Unchanged, false
		}
		stored.Title = want.Title
		return driver.Updated, true
	}
	for _, title := range []string{"Ring the bell", "Ring the bell", "Ring both bells"} {
		err := store.InTx(ctx, func(tx driver.Tx) error {
			got, err := tasks.Ensure(ctx, tx, rename, task("bell:noon", title, time.Time{}))
			if err == nil {
				fmt.Println(got[0].Outcome, got[0].Row.Version)
			}
			return err
		})
		if err != nil {
			fmt.Println(err)
		}
	}
	// Output:
	// Created 1
	// Unchanged 1
	// Updated 2
}

// A scope is one tenant, whatever it says; all of them are said otherwise.
func ExampleTable_Everywhere() {
	ctx, store := context.Background(), memory.New(nil)
	north, south := task("bell:noon", "Ring the bell", time.Time{}), task("bell:noon", "Ring both bells", time.Time{})
	north.Scope, south.Scope = "north", "south"
	err := store.InTx(ctx, func(tx driver.Tx) error {
		if _, err := tasks.Insert(ctx, tx, north, south); err != nil {
			return err
		}
		n, err := tasks.Count(ctx, tx, "north", 10)
		fmt.Println(n, err)
		n, err = tasks.Everywhere().Count(ctx, tx, 10)
		fmt.Println(n, err)
		_, err = tasks.Count(ctx, tx, "\x00any", 10)
		fmt.Println(err)
		return nil
	})
	if err != nil {
		panic(err)
	}
	// Output:
	// 1 <nil>
	// 2 <nil>
	// storage: task.scope: text holds a NUL character
}

func ExampleTable_Page() {
	ctx, store := context.Background(), memory.New(nil)
	err := store.InTx(ctx, func(tx driver.Tx) error {
		_, err := tasks.Insert(ctx, tx, task("a", "Ring", time.Time{}), task("b", "Sweep", time.Time{}), task("c", "Lock up", time.Time{}))
		return err
	})
	for p := (driver.Page{Limit: 2}); err == nil; {
		var rows []*Task
		err = store.InTx(ctx, func(tx driver.Tx) (err error) {
			rows, p.After, err = tasks.Page(ctx, tx, "", p, driver.Query{})
			return err
		})
		fmt.Println(len(rows), "next:", p.After)
		if p.After == "" {
			break
		}
	}
	// Output:
	// 2 next: b
	// 1 next:
}

func ExampleTable_Claim() {
	ctx, store := context.Background(), memory.New(nil)
	eight := time.Date(2026, 3, 1, 8, 0, 0, 0, time.UTC)
	err := store.InTx(ctx, func(tx driver.Tx) error {
		_, err := tasks.Insert(ctx, tx,
			task("noon", "Ring twelve times", eight.Add(4*time.Hour)),
			task("eight", "Ring eight times", eight),
			task("seven", "Ring seven times", eight.Add(-time.Hour)))
		return err
	})
	var held []*Task
	err = errors.Join(err, store.InTx(ctx, func(tx driver.Tx) (err error) {
		held, err = tasks.Claim(ctx, tx, driver.Claim{
			Statuses: []string{"Pending"}, Busy: "Running",
			Lanes: []driver.LaneClaim{{Lane: driver.LaneUrgent, Limit: 10}, {Lane: driver.LaneNormal, Limit: 10}},
			Now:   eight, LeaseUntil: eight.Add(time.Minute), Token: "fresh and random",
		})
		return err
	}))
	for _, t := range held {
		fmt.Println(t.Title, t.Status, t.Version, t.Abandoned)
	}
	fmt.Println(err)
	// Output:
	// Ring seven times Running 2 false
	// Ring eight times Running 2 false
	// <nil>
}

func ExampleTable_Save() {
	ctx, store := context.Background(), memory.New(nil)
	mine := task("bell", "Ring the bell", time.Time{})
	write := func(f func(tx driver.Tx) error) error { return store.InTx(ctx, f) }
	err := write(func(tx driver.Tx) error {
		_, err := tasks.Insert(ctx, tx, mine)
		return err
	})
	fmt.Println(err)

	theirs := *mine // somebody else read the row, too, and is first
	theirs.Title = "Polish the bell"
	fmt.Println(write(func(tx driver.Tx) error { return tasks.Save(ctx, tx, &theirs) }))

	mine.Status = "Completed"
	err = write(func(tx driver.Tx) error { return tasks.Save(ctx, tx, mine) })
	fmt.Println(errors.Is(err, driver.ErrStale), err)
	// Output:
	// <nil>
	// <nil>
	// true storage: task: 1 of the rows have a newer version
}

func ExampleBlobs() {
	ctx, store := context.Background(), memory.New(nil)
	ref, err := store.Blobs().Put(ctx, strings.NewReader("a long list of recipients"))
	fmt.Println(ref.Size, err)
	err = store.InTx(ctx, func(tx driver.Tx) error { // of the row that names it
		return store.Blobs().Keep(ctx, tx, driver.Owned{Table: "campaign", Key: "spring", Refs: []driver.Ref{ref}})
	})
	fmt.Println(err)
	content, err := readAll(ctx, store.Blobs(), ref, 7)
	fmt.Println(content, err)
	// Output:
	// 25 <nil>
	// <nil>
	// list of recipients <nil>
}
