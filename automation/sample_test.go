package automation_test

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"

	"github.com/belfry-go/belfry/automation"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/storage/memory"
)

// A template that names what no reminder has is told of when it is registered, not when its
// first message fails.
func TestRegisterTriesTheTemplateOnASample(t *testing.T) {
	t.Parallel()
	for text, unknown := range map[string]string{
		"{{.Sorce.ID}}":    `"Sorce"`,
		"{{.Source.Name}}": "Name",
		"{{.Source.ID}} {{.TargetDate}} {{.DaysBefore}} {{.Metric}} {{.Reading}} {{.Occurrence.LocalTime}} {{.At.LocalDate}} {{.Recipient.Name}} {{range .Entries}}{{.Key}}{{end}}": "",
	} {
		var log bytes.Buffer
		store := memory.New(nil)
		s := automation.New(store, notify.New(store, nil), &automation.Options{Logger: slog.New(slog.NewTextHandler(&log, nil))})
		s.Register(certificates(func(t *automation.ReminderType) { t.Template = notify.Template{Subject: text} }))
		switch got := log.String(); {
		case unknown == "" && got != "":
			t.Errorf("%s: %s", text, got)
		case unknown != "" && (!strings.Contains(strings.ReplaceAll(got, `\`, ""), unknown) || !strings.Contains(got, "DaysBefore Key Metric")):
			t.Errorf("%s: %s", text, got)
		}
	}
}
