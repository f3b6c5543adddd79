package main

import (
	"context"
	"fmt"
	"os"
)

func Example_play() {
	fmt.Println(play(context.Background(), os.Stdout))
	// Output:
	// ada got "certificate, 7 days before 2026-04-22" by email:school on 15 April 2026, 09:00 UTC
	// ben did not get "certificate, 7 days before 2026-04-22": no recipient or address was on file on 15 April 2026, 09:00 UTC (NoRecipients)
	// cem did not get "certificate, 7 days before 2026-04-22" on 15 April 2026, 09:00 UTC: the mailbox does not exist (550); it is in the inbox
	// dia may have got "certificate, 7 days before 2026-04-22" on 15 April 2026, 09:00 UTC: nobody can tell whether it was sent (OutcomeUnknown); it is in the inbox
	// eve did not get "certificate, 7 days before 2026-04-22" on 15 April 2026, 09:00 UTC: it came back; it is in the inbox
	// fay was sent "certificate, 7 days before 2026-04-22" by email:school on 15 April 2026, 09:00 UTC; no word yet that it arrived; it is in the inbox
	// Doubt: 3 messages on hold: nobody can tell whether it was sent
	//   settled as sent (dry run: true): 3
	//   settled as sent (dry run: false): 3
	// 21 Apr 09:00 certificate, 1 day before 2026-04-22: not sent, since a person cancelled it (CancelledBySupport)
	//   Cancel: Pending to Cancelled by kim: has renewed it on paper
	// <nil>
}
