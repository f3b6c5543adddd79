package main

func Example() {
	main()
	// Output:
	//   Mon 16 Mar 09:00 GMT  eve    Invoice 1005 is due on 2026-03-30
	//   Fri 27 Mar 09:00 GMT  eve    Invoice 1005 is due on 2026-03-30
	//   Tue 31 Mar 09:00 IST  eve    Invoice 1005 was due on 2026-03-30
	//   Fri  3 Apr 09:00 IST  ada    Invoice 1001 is due on 2026-04-20
	//   Mon  6 Apr 09:00 +03  carla  Invoice 1003 is due on 2026-04-20
	//   Wed  8 Apr 09:00 IST  ben    Invoice 1002 is due on 2026-04-22
	//   Fri 10 Apr 09:00 IST  dan    Invoice 1004 is due on 2026-04-24
	// Also 7 days after, and at 08:00 (dry run: true): 4 made, 13 moved, 1 too late
	// Also 7 days after, and at 08:00 (dry run: false): 4 made, 13 moved, 1 too late
	// Also 7 days after, and at 08:00 (dry run: true): 0 made, 0 moved, 1 too late
	//   Mon 13 Apr 08:00 IST  eve    Invoice 1005 was due on 2026-03-30
	// 1002 is paid, which ends 4 reminders.
	//   Fri 17 Apr 08:00 IST  ada    Invoice 1001 is due on 2026-04-20
	//   Sun 19 Apr 08:00 +03  carla  Invoice 1003 is due on 2026-04-20
	//   Tue 21 Apr 08:00 +03  carla  Invoice 1003 was due on 2026-04-20
	//   Tue 21 Apr 08:00 IST  ada    Invoice 1001 was due on 2026-04-20
	//   Mon 27 Apr 08:00 +03  carla  Invoice 1003 was due on 2026-04-20
	//   Mon 27 Apr 08:00 IST  ada    Invoice 1001 was due on 2026-04-20
	//   Fri  1 May 08:00 IST  ada    Invoice 1001 was due on 2026-04-20
	//   Mon  4 May 08:00 +03  carla  Invoice 1003 was due on 2026-04-20
	// reminder:payment:invoice:1002:default:2026-04-22:3
	//   invoice for invoice 1002, 3 days before 2026-04-22, at 08:00 Europe/Dublin: 2026-04-17T07:00:00Z
	//   by setting payment
	//   Deactivated on 2026-04-14T12:00:00Z (Paid)
	//   2026-03-10T07:00:00Z: Created by event invoice.entered
	//   2026-04-10T12:00:00Z: Updated by event belfry.reconcile: for 2026-04-17T07:00:00Z
	//   2026-04-14T12:00:00Z: Deactivated by event invoice.paid: Paid (Pending to Deactivated)
	//   now: nothing, and nothing if it is asked for again: its time, 17 April 08:00, had passed by 23 days, more than CatchUp (24 h)
}
