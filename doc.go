// Package belfry runs the work that its domains have scheduled: reminders when they are
// due (package automation), messages that go out once (package notify), survey links
// (package survey), and reports (package automation/report, run by the scheduler). A host
// makes a store, the services it needs, and one [Poller] over them. Everything runs in
// the host's process and database. Delivery is not exactly-once; the comment of package
// notify states the guarantee.
//
//	store, err := sqlite.Open(ctx, "app.db", nil)
//	out := notify.New(store, nil, channel)
//	reminders := automation.New(store, out, nil)
//	err = belfry.NewPoller(store, nil, reminders, out).Run(ctx)
package belfry
