package survey_test

import (
	"errors"
	"log/slog"
	"strings"
	"testing"

	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/survey"
	"github.com/belfry-go/belfry/survey/form"
)

// Support reads in the log why there is no message: where a text fails, or of what
// kind the error of a host's renderer is; and nothing of the customer.
func TestTheLogSaysWhyThereIsNoMessage(t *testing.T) {
	const customer = "planted-name"
	templated := strings.Replace(csiGR, `"questions"`, `"messages": [{"ordinal": 0, "text": "{{.URL}} {{if ne (.Value \"name\") \"\"}}{{slice (.Value \"name\") 50}}{{end}}"}], "questions"`, 1)
	ranged := strings.Replace(csiGR, `"questions"`, `"messages": [{"ordinal": 0, "text": "{{.URL}} {{if eq (.Value \"name\") \"planted-name\"}}{{range $.Value \"name\"}}{{end}}{{end}}"}], "questions"`, 1)
	fails := func(err error) survey.Renderer {
		return rendererFunc(func(form.LinkData) (form.Parts, error) { return form.Parts{}, err })
	}
	key := []byte(strings.Repeat("k", 32))
	for name, c := range map[string]struct {
		definition, reason, says string
		opts                     survey.Options
	}{
		"a part of a value":    {templated, survey.ReasonRenderFailed, `executing \"text\" at <slice (.Value \"name\") 50>`, survey.Options{}},
		"a value in the error": {ranged, survey.ReasonRenderFailed, `at <\"name\">"`, survey.Options{}},
		"a renderer":           {csiGR, survey.ReasonRenderFailed, "type=*errors.errorString", survey.Options{Renderer: fails(errors.New(customer))}},
		"a renderer's code":    {csiGR, survey.ReasonRenderFailed, "type=*errors.errorString code=NoText", survey.Options{Renderer: fails(notify.Transient("NoText", 0, errors.New(customer)))}},
		"a key that is gone":   {csiGR, survey.ReasonLink, survey.ErrLinkKey.Error(), survey.Options{LinkKey: key}},
	} {
		t.Run(name, func(t *testing.T) {
			inMemory(t, nil, func(h *host) {
				var log buffer
				c.opts.Logger = slog.New(slog.NewTextHandler(&log, nil))
				h.use(c.opts, h.memory())
				h.publish(csiGR)
				h.rewrite(4523, c.definition) // Publish refuses one of them, which others may have stored
				id := h.ingest(strings.Replace(visit, `"wip"`, `"name":"planted-name","wip"`, 1)).Items[0].Instances[0].PublicID
				if c.reason == survey.ReasonLink {
					h.use(survey.Options{Logger: c.opts.Logger}, h.memory())
				}
				h.drain()
				if i := h.status(id, survey.StatusPending); i.ReasonCode != c.reason {
					h.t.Error(i.ReasonCode)
				}
				text := log.text.String()
				if !strings.Contains(text, c.says) || !strings.Contains(text, "instance="+id) || strings.Count(text, "\n") != 1 {
					h.t.Errorf("logged %s", text)
				}
				if strings.Contains(text, customer) || strings.Contains(text, "7700000001") || strings.Contains(text, "cust-123") {
					h.t.Errorf("of the customer: %s", text)
				}
			})
		})
	}
}
