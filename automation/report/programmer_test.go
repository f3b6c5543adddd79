package report_test

import (
	"context"
	"testing"

	"github.com/belfry-go/belfry/automation"
	"github.com/belfry-go/belfry/automation/report"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/memory"
)

// What only a programmer can get wrong is a panic.
func TestProgrammersErrorsPanic(t *testing.T) {
	t.Parallel()
	store := memory.New(nil)
	out := notify.New(store, &notify.Options{Logger: quiet})
	work := automation.New(store, out, &automation.Options{Logger: quiet})
	reports := report.New(store, work, out, nil)
	builder := report.BuilderFunc(salesReport)
	reports.Register(report.Type{Name: "taken", Builder: builder})
	none := automation.HandlerFunc(func(context.Context, []automation.Due) ([]automation.Outcome, error) { return nil, nil })
	for name, f := range map[string]func(){
		"no store":   func() { report.New(nil, work, out, nil) },
		"Keep":       func() { report.New(store, work, out, &report.Options{Keep: -1}) },
		"no builder": func() { reports.Register(report.Type{Name: "x"}) },
		"MaxBytes":   func() { reports.Register(report.Type{Name: "x", Builder: builder, MaxBytes: -1}) },
		"twice":      func() { reports.Register(report.Type{Name: "taken", Builder: builder}) },
		"template": func() {
			reports.Register(report.Type{Name: "x", Builder: builder, Template: notify.Template{Text: "{{"}})
		},
		"named": func() {
			reports.Register(report.Type{Name: "x", Builder: builder, Templates: map[string]notify.Renderer{"": notify.Template{}}})
		},
		"another's":  func() { reports.WithTx(nil) },
		"no handler": func() { work.HandleReports(automation.WorkType{Name: "x", Lateness: automation.Lateness{}}) },
		"a name": func() {
			work.HandleReports(automation.WorkType{Name: "a:b", Handler: none, Lateness: automation.Lateness{}})
		},
		"Window": func() {
			work.HandleReports(automation.WorkType{Name: "x", Handler: none, Lateness: automation.Lateness{Window: -1}})
		},
		"a reserved name": func() { work.Handle(automation.WorkType{Name: automation.TypeReportSubscription, Handler: none}) },
		"in a transaction": func() {
			_ = store.InTx(t.Context(), func(tx storage.Tx) error {
				reports.WithTx(tx).Register(report.Type{Name: "x", Builder: builder})
				return nil
			})
		},
	} {
		t.Run(name, func(t *testing.T) {
			defer func() {
				if recover() == nil {
					t.Error("no panic")
				}
			}()
			f()
		})
	}
}
