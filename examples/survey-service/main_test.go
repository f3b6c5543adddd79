package main

import "context"

func Example_play() {
	play(context.Background())
	// Output:
	// 14 May 05:12  A stranger posts an event: 401 {"title":"not signed in","status":401}
	// 14 May 05:12  The scanner posts 6 visits: 3 created, 1 skipped, 1 failed, 1 that no trigger wants.
	// 14 May 05:12  The scanner posts 6 visits: 0 created, 4 skipped, 1 failed, 1 that no trigger wants.
	//   mail to customer-123@example.com: كيف كانت زيارتك؟ رقم الطلب 40956 (a link that it had: false)
	//   mail to customer-124@example.com: How was your visit? Order 40957 (a link that it had: false)
	//   mail to customer-125@example.com: How was your visit? Order 40958 (a link that it had: false)
	// 14 May 05:17  Five minutes later the links have gone out, each once.
	//   mail to customer-123@example.com: تذكير: كيف كانت زيارتك؟ رقم الطلب 40956 (a link that it had: true)
	//   mail to customer-124@example.com: A reminder: how was your visit? Order 40957 (a link that it had: true)
	//   mail to customer-125@example.com: A reminder: how was your visit? Order 40958 (a link that it had: true)
	// 15 May 05:17  Nobody has answered for a day, so each is reminded, with the same link.
	// 15 May 05:17  A mail scanner fetches a link: 200, in Arabic and from right to left: true
	//   customer-123@example.com: 200 Sent; now: every send was made; without a response it expires on 2026-06-14T05:17:34Z
	//     2026-05-14T05:12:34Z: initial send, call 1: delivered as {id}.eml
	//     2026-05-15T05:17:34Z: reminder 1, call 2: delivered as {id}-1.eml
	// 15 May 05:17  The page's script says that it was opened: 204
	//   customer-123@example.com: 200 Opened; now: every send was made; without a response it expires on 2026-06-14T05:17:34Z
	//     2026-05-14T05:12:34Z: initial send, call 1: delivered as {id}.eml
	//     2026-05-15T05:17:34Z: reminder 1, call 2: delivered as {id}-1.eml
	// 15 May 05:17  The customer forgets a question: 422
	// 15 May 05:17  Has a complaint, and is asked which: true
	// 15 May 05:17  Is done, and thanked in Arabic: true
	// 15 May 05:17  Another customer answers q.rate=9&q.has-a-complaint=no: 200
	// 15 May 05:17  Another customer answers q.rate=9&q.has-a-complaint=no: 200
	// 15 May 05:17  Another customer answers q.rate=1&q.has-a-complaint=no: 409
	// 15 May 05:17  The warehouse is away.
	//   ticket: Complaint of cust-123 about order 40956, rated 3 of 10: The radio is gone.
	//   customer-123@example.com: 200 Completed; now: nothing more
	//     2026-05-14T05:12:34Z: initial send, call 1: delivered as {id}.eml
	//     2026-05-15T05:17:34Z: reminder 1, call 2: delivered as {id}-1.eml
	//     tickets: Dispatched
	//     warehouse: Pending
	//   customer-124@example.com: 200 Completed; now: nothing more
	//     2026-05-14T05:12:34Z: initial send, call 1: delivered as {id}.eml
	//     2026-05-15T05:17:34Z: reminder 1, call 2: delivered as {id}-1.eml
	//     warehouse: Pending
	// 19 May 05:17  It was called with growing pauses; what it has not taken are dead letters now.
	//   customer-123@example.com: 200 Completed; now: nothing more
	//     2026-05-14T05:12:34Z: initial send, call 1: delivered as {id}.eml
	//     2026-05-15T05:17:34Z: reminder 1, call 2: delivered as {id}-1.eml
	//     tickets: Dispatched
	//     warehouse: DeadLetter
	// 19 May 05:17  It is back. A dry run of a replay says 200 2 replayed
	// 19 May 05:17  And the replay: 200 2 replayed
	//   the response of cust-123 is in the warehouse
	//   the response of cust-124 is in the warehouse
	//   customer-123@example.com: 200 Completed; now: nothing more
	//     2026-05-14T05:12:34Z: initial send, call 1: delivered as {id}.eml
	//     2026-05-15T05:17:34Z: reminder 1, call 2: delivered as {id}-1.eml
	//     tickets: Dispatched
	//     warehouse: Dispatched
	//   customer-125@example.com: 200 Sent; now: every send was made; without a response it expires on 2026-06-14T05:17:34Z
	//     2026-05-14T05:12:34Z: initial send, call 1: delivered as {id}.eml
	//     2026-05-15T05:17:34Z: reminder 1, call 2: delivered as {id}-1.eml
	// 14 Jun 05:17  30 days after its reminder a link expires, and says so; one that never was says nothing:
	//   customer-125@example.com: 200 Expired; now: nothing more
	//     2026-05-14T05:12:34Z: initial send, call 1: delivered as {id}.eml
	//     2026-05-15T05:17:34Z: reminder 1, call 2: delivered as {id}-1.eml
	// 14 Jun 05:17  410 and 404; a late answer: 410
	// 14 Jun 05:17  2 answered, 1 expired; 1 ticket, 2 in the warehouse, 2 rows exported.
}
