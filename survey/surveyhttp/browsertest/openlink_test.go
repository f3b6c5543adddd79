package browsertest_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/belfry-go/belfry/survey"
)

// poster is a site with an open link.
func poster(t *testing.T) (s *site, url string) {
	t.Helper()
	s = open(t, workshop, "en")
	definition := `{"title":"How was it?","questions":[{"id":"name","type":"text","required":true,"label":"Your name"}],"openLinks":[{"id":"poster","enabled":true}]}`
	if _, err := s.survey.Publish(t.Context(), survey.Version{SurveyID: 1, Name: "poster", Definition: json.RawMessage(definition)}); err != nil {
		t.Fatal(err)
	}
	link, err := s.survey.OpenLink(t.Context(), "", 1, "poster")
	if err != nil {
		t.Fatal(err)
	}
	return s, s.url[:strings.LastIndex(s.url, "/")] + link[strings.LastIndex(link, "/"):]
}

// Where several answer at one tab, the next one sees nothing that the one before has typed: not in
// the form, not by the way back.
func TestTheNextOneAtAnOpenLinkSeesAFreshForm(t *testing.T) {
	t.Parallel()
	s, url := poster(t)
	c := customer{t, browse(t, window{360, 900, true}), true}
	name := func() string { return eval[string](c.ctx, t, `document.getElementById("q1").value`) }
	do(c.ctx, t, chromedp.Navigate(url))
	c.look("open-1")
	c.write("q1", "Ann")
	do(c.ctx, t, chromedp.Navigate("about:blank"), chromedp.Navigate(url))
	if got := name(); got != "" {
		t.Errorf("the next one sees %q", got)
	}
	c.write("q1", "Ben")
	c.submit()
	c.comes(`document.body.dataset.sent !== undefined`)
	c.back()
	c.comes(`document.getElementById("q1") !== null && document.getElementById("q1").value === ""`)
	if n := eval[int](c.ctx, t, "sessionStorage.length"); n != 0 {
		t.Errorf("%d drafts are kept", n)
	}
	if err := s.poller.Drain(t.Context()); err != nil {
		t.Fatal(err)
	}
	if e := <-s.heard; string(e.Answers) != `{"name":"Ben"}` || e.TriggerID != "poster" {
		t.Errorf("%+v", e)
	}
}

// Without JavaScript, too, several answer by an open link: each is told what is missing, and thanked.
func TestAnOpenLinkNeedsNoScript(t *testing.T) {
	t.Parallel()
	s, url := poster(t)
	c := customer{t, browse(t, window{360, 900, false}), false}
	for _, name := range []string{"Ann", "Ben"} {
		do(c.ctx, t, chromedp.Navigate(url))
		c.submit()
		c.comes(`document.querySelector(".summary")`)
		c.look("open-plain-faults-" + name)
		c.write("q1", name)
		c.submit()
		c.comes(`document.body.dataset.sent !== undefined`)
		c.look("open-plain-thanks-" + name)
		if err := s.poller.Drain(t.Context()); err != nil {
			t.Fatal(err)
		}
		if e := <-s.heard; string(e.Answers) != `{"name":"`+name+`"}` || e.TriggerID != "poster" {
			t.Errorf("%+v", e)
		}
	}
}

// An anonymous form says that it is, thanks, and then that it was answered; what comes of it names
// no customer.
func TestAnAnonymousFormSaysSo(t *testing.T) {
	t.Parallel()
	for _, script := range []bool{true, false} {
		t.Run(map[bool]string{true: "script", false: "plain"}[script], func(t *testing.T) {
			t.Parallel()
			s := open(t, anonymous, "ar")
			c := customer{t, browse(t, window{360, 900, script}), script}
			do(c.ctx, t, chromedp.Navigate(s.url))
			c.look("anonymous-1-form")
			if text := eval[string](c.ctx, t, `document.body.innerText`); !strings.Contains(text, "مجهول") {
				t.Errorf("it does not say that it is anonymous: %s", text)
			}
			c.write("q1", "Too loud")
			c.submit()
			c.comes(`document.body.dataset.sent !== undefined`)
			c.look("anonymous-2-thanks")
			do(c.ctx, t, chromedp.Navigate(s.url))
			c.comes(`document.body.dataset.sent === undefined && !document.querySelector("form")`)
			if err := s.poller.Drain(t.Context()); err != nil {
				t.Fatal(err)
			}
			if e := <-s.heard; string(e.Answers) != `{"what":"Too loud"}` || e.TriggerID+e.RecipientAddress+e.CustomerRef != "" || !e.CompletedOn.Equal(s.clock.Now().Truncate(24*time.Hour)) {
				t.Errorf("%+v", e)
			}
		})
	}
}

const anonymous = `{"title":"How is it here?","anonymous":true,"questions":[{"id":"what","type":"text","required":true,"label":"ماذا نغيّر؟"}],
	"triggers": [{"id":"t","enabled":true,"eventKind":"service-visit-closed","dedupRecipe":["templateId","candidate.wip"],"schedule":{"initialDelay":"0d"},"channel":"memory:default"}]}`
