package templates_test

import (
	"encoding/json"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/notify/templates"
)

func folder(files map[string]string) fstest.MapFS {
	out := fstest.MapFS{}
	for name, text := range files {
		out["mails/visit/"+name] = &fstest.MapFile{Data: []byte(text)}
	}
	return out
}

var greetings = map[string]string{
	"subject.en.tmpl": "Hello\n", "text.en.tmpl": "{{.On}}", "subject.pt.tmpl": "Bom dia", "subject.zh-Hant.tmpl": "你好",
	"subject.de-CH.tmpl": "Grüezi", "html.de-CH.tmpl": "<b>{{.On}}</b>",
}

func TestARecipientGetsTheNearestLocale(t *testing.T) {
	t.Parallel()
	l, err := templates.Parse(folder(greetings), "mails/visit", "en")
	if err != nil {
		t.Fatal(err)
	}
	for asked, want := range map[string]string{
		"pt-BR": "Bom dia, pt after [pt-BR]", "zh-TW": "你好, zh-Hant after [zh-TW]", "de-CH": "Grüezi, de-CH after []",
		"de": "Grüezi, de-CH after [de]", "fr": "Hello, en after [fr]", "": "Hello, en after []", "not a tag": "Hello, en after []", "en-GB": "Hello, en after [en-GB en-001]",
	} {
		got, err := l.Render(t.Context(), notify.Job{EventData: json.RawMessage(`{"On":"1 < 2"}`)}, notify.Recipient{Locale: asked})
		if err != nil {
			t.Fatal(err)
		}
		line := got.Subject + ", " + got.Locale + " after [" + strings.Join(got.Missing, " ") + "]"
		if diff := cmp.Diff(want, line); diff != "" {
			t.Errorf("%q: %s", asked, diff)
		}
		if asked == "de-CH" && got.HTML != "<b>1 &lt; 2</b>" {
			t.Error(got.HTML)
		}
	}
}

func TestEveryFaultOfATemplateFolderIsListed(t *testing.T) {
	t.Parallel()
	files := map[string]string{
		"subject.en.tmpl": "{{.On", "body.en.tmpl": "x", "subject.klingon-!.tmpl": "x", "subject.tmpl": "x",
	}
	_, err := templates.Parse(folder(files), "mails/visit", "fr")
	if err == nil {
		t.Fatal("no error")
	}
	for _, want := range []string{"body.en.tmpl", "klingon", "subject.tmpl: the file must be named", `locale "en": notify: template`, "locale fr has no template"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("no %q in %v", want, err)
		}
	}
}
