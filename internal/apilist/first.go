package main

import (
	"fmt"
	"strings"
)

// module is the path of the module that the list below is about.
const module = "github.com/belfry-go/belfry"

// first are the names that a host meets first, in the README's program and in
// docs/getting-started.md: package, and how the line begins.
var first = []string{
	"/storage/sqlite: func Open(",
	"/storage/sqlite: method (Store) InHostTx(",
	"/storage/postgres: func Open(",
	"/storage/postgres: func New(",
	"/storage/memory: func New(",
	"/notify: func New(",
	"/notify/channel: type Channel interface",
	"/notify/channel: func Func(",
	"/notify/channel: type Message struct",
	"/notify/channel: type Receipt struct",
	"/notify: type Recipient struct",
	"/notify: type Template struct",
	"/automation: func New(",
	"/automation: method (*Scheduler) Register(",
	"/automation: type ReminderType struct",
	"/automation: type RecipientFunc func",
	"/automation: type Candidate struct",
	"/automation: type Source struct",
	"/automation: type Date ",
	"/automation: type Event struct",
	"/automation: method (*Scheduler) HandleEvent(",
	"/automation: method (*Scheduler) Ensure(",
	"/automation: method (*Scheduler) WithTx(",
	"/automation: method (*Scheduler) Explain(",
	": func NewPoller(",
	": method (*Poller) Run(",
	": method (*Poller) Drain(",
	"/notify/notifytest: func NewRecorder(",
}

// introduced puts the lines of those names before the whole listing. Each has to
// begin exactly one line of it.
func introduced(listing, names []string) ([]string, error) {
	page := []string{"What a host meets first:", ""}
	for _, name := range names {
		var found []string
		for _, line := range listing {
			if strings.HasPrefix(line, module+name) {
				found = append(found, line)
			}
		}
		if len(found) != 1 {
			return nil, fmt.Errorf("%q, which a host meets first, begins %d lines of the listing", name, len(found))
		}
		page = append(page, found...)
	}
	page = append(page, "", "All exported names:", "")
	return append(page, listing...), nil
}
