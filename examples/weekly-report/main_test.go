package main

func Example() {
	main()
	// Output:
	//   Mon  2 Mar 09:00 +0300  riyadh@firm.example sales of 2026-03-02: "shop,sum\nriyadh,7\n"
	//   Mon  2 Mar 09:00 +0000  dublin@firm.example sales of 2026-03-02: "shop,sum\ndublin,7\n"
	//   Mon  2 Mar 09:00 -0500  newyork@firm.example sales of 2026-03-02: "shop,sum\nnewyork,7\n"
	//   Mon  9 Mar 09:00 +0300  riyadh@firm.example sales of 2026-03-09: "shop,sum\nriyadh,7\n"
	//   Mon  9 Mar 09:00 +0000  dublin@firm.example sales of 2026-03-09: "shop,sum\ndublin,7\n"
	//   Mon  9 Mar 09:00 -0400  newyork@firm.example sales of 2026-03-09: "shop,sum\nnewyork,7\n"
	//   Tue 10 Mar 00:00 +0000  dublin@firm.example sales of 2026-03-10, asked for: "shop,sum\ndublin,7\n"
	//   Mon 16 Mar 09:00 +0300  riyadh@firm.example sales of 2026-03-16: "shop,sum\nriyadh,7\n"
	//   Mon 16 Mar 09:00 +0000  dublin@firm.example sales of 2026-03-16: "shop,sum\ndublin,7\n"
	//   Mon 16 Mar 09:00 -0400  newyork@firm.example sales of 2026-03-16: "shop,sum\nnewyork,7\n"
	//   Mon 23 Mar 09:00 +0300  riyadh@firm.example sales of 2026-03-23: "shop,sum\nriyadh,7\n"
	//   Mon 23 Mar 09:00 +0000  dublin@firm.example sales of 2026-03-23: "shop,sum\ndublin,7\n"
	//   Mon 23 Mar 09:00 -0400  newyork@firm.example sales of 2026-03-23: "shop,sum\nnewyork,7\n"
	//   Mon 30 Mar 09:00 +0300  riyadh@firm.example sales of 2026-03-30: "shop,sum\nriyadh,7\n"
	//   Mon 30 Mar 09:00 +0100  dublin@firm.example sales of 2026-03-30: "shop,sum\ndublin,7\n"
	//   Mon 30 Mar 09:00 -0400  newyork@firm.example sales of 2026-03-30: "shop,sum\nnewyork,7\n"
	// report-subscription:dublin-sales:scheduled:2026-04-06T08:00:00Z Pending
	// report-subscription:dublin-sales:scheduled:2026-03-30T08:00:00Z Completed
	// report-subscription:dublin-sales:scheduled:2026-03-23T09:00:00Z Completed
	// report-subscription:dublin-sales:scheduled:2026-03-16T09:00:00Z Completed
	// report-subscription:dublin-sales:manual:no-17 Completed
	// report-subscription:dublin-sales:scheduled:2026-03-09T09:00:00Z Completed
	// report-subscription:dublin-sales:scheduled:2026-03-02T09:00:00Z Completed
	// stage 0 Design: the cron job may send the stock of 2026-04-02: true
	//   Mon  6 Apr 09:00 +0300  riyadh@firm.example sales of 2026-04-06: "shop,sum\nriyadh,7\n"
	//   Mon  6 Apr 09:00 +0100  dublin@firm.example sales of 2026-04-06: "shop,sum\ndublin,7\n"
	//   Mon  6 Apr 09:00 -0400  newyork@firm.example sales of 2026-04-06: "shop,sum\nnewyork,7\n"
	// stage 1 Shadow: the cron job may send the stock of 2026-04-09: true
	//   Mon 13 Apr 09:00 +0300  riyadh@firm.example sales of 2026-04-13: "shop,sum\nriyadh,7\n"
	//   Mon 13 Apr 09:00 +0100  dublin@firm.example sales of 2026-04-13: "shop,sum\ndublin,7\n"
	//   Mon 13 Apr 09:00 -0400  newyork@firm.example sales of 2026-04-13: "shop,sum\nnewyork,7\n"
	// stage 2 RunNow: the cron job may send the stock of 2026-04-16: true
	//   Mon 20 Apr 09:00 +0300  riyadh@firm.example sales of 2026-04-20: "shop,sum\nriyadh,7\n"
	//   Mon 20 Apr 09:00 +0100  dublin@firm.example sales of 2026-04-20: "shop,sum\ndublin,7\n"
	//   Mon 20 Apr 09:00 -0400  newyork@firm.example sales of 2026-04-20: "shop,sum\nnewyork,7\n"
	// stage 3 Scheduled: the cron job may send the stock of 2026-04-23: false
	//   Thu 23 Apr 17:00 +0100  dublin@firm.example stock of 2026-04-23: "shop,sum\ndublin,7\n"
}
