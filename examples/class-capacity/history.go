package main

import (
	"time"

	"github.com/belfry-go/belfry/automation"
)

// step is one thing that happens, and what it should lead to.
type step struct {
	at      time.Time
	what    string
	version int64 // of the class; zero: no event
	taken   int
	outcome automation.EventOutcome
	told    [4]string // of which lines each subscriber hears
}

const (
	applied = automation.EventApplied
	stale   = automation.EventStale
)

// history is the life of one class. Sara's row stands for any line.
var history = []step{
	{march(2, 9, 0), "bookings", 1, 15, applied, [4]string{}},
	{march(2, 10, 0), "a booking: nearly full", 2, 16, applied, [4]string{"any", "16", "16", "16"}},
	{march(2, 10, 1), "the same event once more", 2, 16, applied, [4]string{}},
	{march(2, 12, 0), "two cancel", 3, 14, applied, [4]string{}},
	{march(2, 15, 0), "nearly full again", 4, 17, applied, [4]string{"", "", "", "16"}},
	{march(3, 9, 0), "next day, a booking", 5, 18, applied, [4]string{"", "", "16", ""}},
	{march(3, 11, 0), "full", 6, 20, applied, [4]string{"", "20", "20", "20"}},
	{march(3, 12, 0), "five cancel", 8, 15, applied, [4]string{}},
	{march(3, 12, 5), "one of before that, late", 7, 19, stale, [4]string{}},
	{march(4, 9, 0), "a group: full at once", 9, 20, applied, [4]string{"", "", "16 20", "16 20"}},
	{march(4, 17, 0), "three cancel", 10, 17, applied, [4]string{}},
	{march(4, 18, 0), "full again", 11, 20, applied, [4]string{"", "", "", "20"}},
	{march(5, 9, 0), "full, and nothing happens", 0, 20, "", [4]string{}},
}

func march(day, hour, minute int) time.Time {
	return time.Date(2026, time.March, day, hour, minute, 0, 0, time.UTC)
}
