package browsertest_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// customer is somebody who has nothing but a keyboard.
type customer struct {
	*testing.T
	ctx    context.Context
	script bool // the browser runs JavaScript
}

// focus is the id of the element that has the focus, or what it is.
func (c customer) focus() string {
	c.Helper()
	return eval[string](c.ctx, c.T, `(e => e && (e.id || e.className || e.tagName) || "")(document.activeElement)`)
}

// press presses keys one after another.
func (c customer) press(keys ...string) {
	c.Helper()
	for _, key := range keys {
		if key == kb.Enter {
			c.enter()
		} else {
			do(c.ctx, c.T, chromedp.KeyEvent(key))
		}
	}
}

// enter presses Enter once. What the library sends for it counts twice: a link is
// followed, and the form that it leads to is sent.
func (c customer) enter() {
	c.Helper()
	key := input.DispatchKeyEventParams{Type: kb.KeyDown, Key: "Enter", Code: "Enter", Text: "\r", WindowsVirtualKeyCode: 13}
	for range 2 {
		if _, err := chromedp.Call(c.ctx, input.DispatchKeyEvent, key); err != nil {
			c.Fatal(err)
		}
		key.Type, key.Text = kb.KeyUp, ""
	}
}

// tabTo goes on to the element with that id, or of that tag.
func (c customer) tabTo(want string) {
	c.Helper()
	var seen []string
	for range 60 {
		c.press(kb.Tab)
		at := c.focus()
		if seen = append(seen, at); at == want {
			return
		}
	}
	c.Fatalf("no way to %q by keyboard, only to %s", want, strings.Join(seen, " "))
}

// write goes on to a field and writes into it.
func (c customer) write(field, text string) {
	c.Helper()
	c.tabTo(field)
	for _, r := range text {
		c.press(string(r))
	}
}

// choose goes on to a group of radio buttons and chooses the n-th, from 1.
func (c customer) choose(group string, n int) {
	c.Helper()
	c.tabTo(group + "-1")
	c.press(" ")
	for range n - 1 {
		c.press(kb.ArrowDown)
	}
	if want := fmt.Sprintf("%s-%d", group, n); c.focus() != want || !eval[bool](c.ctx, c.T, `document.activeElement.checked`) {
		c.Fatalf("%s is not chosen: the focus is on %s", want, c.focus())
	}
}

// submit goes on to the button, presses it, and waits for the page that follows.
func (c customer) submit() {
	c.Helper()
	c.tabTo("BUTTON")
	if _, err := chromedp.RunResponse(c.ctx, chromedp.KeyEvent(" ")); err != nil {
		c.Fatal(err)
	}
}
