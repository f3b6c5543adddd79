package browsertest_test

import (
	_ "embed" // the survey
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

//go:embed testdata/survey.json
var workshop string

// A customer follows the link, sends the form empty, is told what is missing, follows
// the first link of the summary to its field, fills the form in, says that there is a
// complaint, describes it, and is thanked: by keyboard alone.
func TestACustomerFillsInTheForm(t *testing.T) {
	t.Parallel()
	for _, width := range []int64{360, 768, 1280} {
		for _, locale := range []string{"en", "ar"} {
			for _, script := range []bool{true, false} {
				name := fmt.Sprintf("%d-%s-script-%v", width, locale, script)
				t.Run(name, func(t *testing.T) {
					s := open(t, workshop, locale)
					c := customer{t, browse(t, window{width, 900, script}), script}
					c.fillIn(s, name)
				})
			}
		}
	}
}

func (c customer) fillIn(s *site, name string) {
	do(c.ctx, c.T, chromedp.Navigate(s.url))
	c.look(name + "-1-form")
	if shown := c.shown("q3"); shown {
		c.Error("a question is shown that is not asked yet")
	}
	c.submit()
	c.look(name + "-2-faults")
	if at := c.focus(); at != "summary" {
		c.Errorf("after a faulty form the focus is on %s, not on the summary", at)
	}
	c.press(kb.Tab, kb.Enter)
	if at := c.focus(); at != "q1-1" {
		c.Errorf("the first link of the summary leads to %s", at)
	}
	c.answer()
	if !c.script {
		c.submit()
		c.look(name + "-3-more")
		if at := c.focus(); at != "summary more" {
			c.Errorf("when more questions follow the focus is on %s", at)
		}
		c.press(kb.Tab, kb.Enter)
		c.type3()
	}
	c.look(name + "-4-filled")
	c.submit()
	c.look(name + "-5-thanks")
	if n := eval[int](c.ctx, c.T, "sessionStorage.length"); n != 0 {
		c.Errorf("%d drafts are kept after the thanks", n)
	}
	do(c.ctx, c.T, chromedp.Navigate(s.url))
	c.look(name + "-6-answered")
	c.heard(s)
	if beacons := s.opened.Load(); beacons != map[bool]int64{true: 1}[c.script] {
		c.Errorf("%d beacons", beacons)
	}
}

// look checks and photographs the page.
func (c customer) look(name string) {
	c.Helper()
	accessible(c.ctx, c.T, name, c.script)
	fits(c.ctx, c.T, name)
	picture(c.ctx, c.T, name)
}

// shown says whether a field can be seen.
func (c customer) shown(id string) bool {
	c.Helper()
	return eval[bool](c.ctx, c.T, `document.getElementById("`+id+`").getBoundingClientRect().height > 0`)
}

// answer answers from the first field on, which has the focus.
func (c customer) answer() {
	c.press(" ")
	for range 6 {
		c.press(kb.ArrowDown)
	}
	c.choose("q2", 1)
	if shown := c.shown("q3"); shown != c.script {
		c.Errorf("the question that follows from the answer is shown: %v", shown)
	}
	if c.script {
		c.tabTo("q3")
		c.type3()
	}
	c.write("q4", "1.5")
	c.write("q5", "Samir <b>")
	c.choose("q6", 2)
	c.tabTo("q7")
	c.press("e")
	c.tabTo("q8-1")
	c.press(" ", kb.Tab, kb.Tab, " ")
	c.write("q9", "11302026")
	for option, number := range []string{"2", "1", "3"} {
		c.tabTo(fmt.Sprint("q10-", option+1))
		c.press(number)
	}
	c.choose("q12", 4)
	c.choose("q13", 1)
}

// type3 writes the complaint, whose field has the focus.
func (c customer) type3() {
	for _, line := range []string{"The brakes squeak.", "Still."} {
		for _, r := range line {
			c.press(string(r))
		}
		c.press(kb.Enter)
	}
}

// heard says that the answers have come where they should.
func (c customer) heard(s *site) {
	c.Helper()
	if err := s.poller.Drain(c.Context()); err != nil {
		c.Fatal(err)
	}
	var got string
	select {
	case e := <-s.heard:
		got = string(e.Answers)
	default:
		c.Fatal("no response has come")
	}
	want := `{"by":"bus","complaint":"The brakes squeak.\nStill.\n","has-a-complaint":"yes","hours":1.5,"how-was.care":1,"how-was.time":4,"liked":["people","price"],"matters":["price","speed","words"],"name":"Samir <b>","next":"2026-11-30","rate":7,"town":"erbil"}`
	var a, b any
	if json.Unmarshal([]byte(got), &a) != nil || json.Unmarshal([]byte(want), &b) != nil || fmt.Sprint(a) != fmt.Sprint(b) {
		c.Errorf("answers %s, want %s", strings.TrimSpace(got), want)
	}
}
