package main

import (
	"context"
	"fmt"
	"maps"
)

// expected are all mails, in local time. 1006 is too old for any, and paid
// invoices get no more of them.
var expected = []string{
	"Mon 16 Mar 09:00 GMT  eve    Invoice 1005 is due on 2026-03-30",
	"Fri 27 Mar 09:00 GMT  eve    Invoice 1005 is due on 2026-03-30",
	"Tue 31 Mar 09:00 IST  eve    Invoice 1005 was due on 2026-03-30", // the clocks have changed
	"Fri  3 Apr 09:00 IST  ada    Invoice 1001 is due on 2026-04-20",  // off Easter Monday, and the weekend before
	"Mon  6 Apr 09:00 +03  carla  Invoice 1003 is due on 2026-04-20",  // no holiday in Riyadh
	"Wed  8 Apr 09:00 IST  ben    Invoice 1002 is due on 2026-04-22",
	"Fri 10 Apr 09:00 IST  dan    Invoice 1004 is due on 2026-04-24",
	"Mon 13 Apr 08:00 IST  eve    Invoice 1005 was due on 2026-03-30", // at the new time; 7 days after is over
	"Fri 17 Apr 08:00 IST  ada    Invoice 1001 is due on 2026-04-20",
	"Sun 19 Apr 08:00 +03  carla  Invoice 1003 is due on 2026-04-20", // off Friday and Saturday
	"Tue 21 Apr 08:00 +03  carla  Invoice 1003 was due on 2026-04-20",
	"Tue 21 Apr 08:00 IST  ada    Invoice 1001 was due on 2026-04-20",
	"Mon 27 Apr 08:00 +03  carla  Invoice 1003 was due on 2026-04-20", // the new offset
	"Mon 27 Apr 08:00 IST  ada    Invoice 1001 was due on 2026-04-20",
	"Fri  1 May 08:00 IST  ada    Invoice 1001 was due on 2026-04-20", // off the May holiday
	"Mon  4 May 08:00 +03  carla  Invoice 1003 was due on 2026-04-20",
}

// count compares the mails with what should be there.
func (s *story) count(context.Context) error {
	left := map[string]int{} // what is expected and not there
	for _, line := range expected {
		left[line]++
	}
	for _, line := range s.mails.lines {
		left[line]--
	}
	missing, doubled := 0, 0
	for _, n := range left {
		missing += max(n, 0)
		doubled += max(-n, 0)
	}
	s.say("\n%d mails: %d doubled or unexpected, %d missing.", len(s.mails.lines), doubled, missing)
	maps.DeleteFunc(left, func(_ string, n int) bool { return n == 0 })
	if len(left) > 0 {
		return fmt.Errorf("these are too few (+) or too many (-): %v", left)
	}
	return nil
}
