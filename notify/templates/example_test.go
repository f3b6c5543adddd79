package templates_test

import (
	"context"
	"encoding/json"
	"fmt"
	"testing/fstest"

	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/notify/templates"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/memory"
)

// A tenant writes its own words; the others have those of the program.
func ExampleFrom() {
	ctx := context.Background()
	store := memory.New(nil)
	out := notify.New(store, nil)
	own := templates.NewTable(store)
	shipped, err := templates.Read(fstest.MapFS{ // an embed.FS in earnest
		"visit/subject.en.tmpl": {Data: []byte("Your visit on {{.On}}")},
	}, "en")
	orPanic(err)
	out.Register(notify.Type{Name: "visit", Renderer: templates.From(own, shipped)})

	words := templates.Set{Default: "en", Locales: map[string]notify.Template{"en": {Subject: "See you on {{.On}}!"}}}
	version, err := own.Put(ctx, "acme", "visit", words, notify.By{Actor: "kim", Reason: "friendlier"})
	fmt.Println(version, err)
	for _, tenant := range []storage.Scope{"acme", "other"} {
		job := notify.Job{Scope: tenant, Type: "visit", EventData: json.RawMessage(`{"On":"2026-05-01"}`)}
		shown, err := out.Preview(ctx, job, notify.Recipient{Name: "Sam"})
		fmt.Println(shown.Subject, err)
	}
	// Output:
	// 1 <nil>
	// See you on 2026-05-01! <nil>
	// Your visit on 2026-05-01 <nil>
}

// The nearest locale is taken, and the page that shows a mail beforehand stores
// nothing.
func ExampleParse() {
	ctx := context.Background()
	out := notify.New(memory.New(nil), nil)
	files := fstest.MapFS{ // an embed.FS in earnest
		"visit/subject.en.tmpl": {Data: []byte("Your visit on {{.On}}")},
		"visit/subject.pt.tmpl": {Data: []byte("Sua visita em {{.On}}")},
	}
	visits, err := templates.Parse(files, "visit", "en")
	orPanic(err)
	out.Register(notify.Type{Name: "visit", Renderer: visits})

	job := notify.Job{Type: "visit", EventData: json.RawMessage(`{"On":"2026-05-01"}`)}
	shown, err := out.Preview(ctx, job, notify.Recipient{Name: "Sam", Locale: "pt-BR"})
	fmt.Println(shown.Subject, shown.Locale, shown.Missing, err)
	// Output: Sua visita em 2026-05-01 pt [pt-BR] <nil>
}

func orPanic(err error) {
	if err != nil {
		panic(err)
	}
}
