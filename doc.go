// Package belfry runs what its domains have scheduled: reminders when they are
// due (package automation), messages that go out once (package notify), survey
// links (package survey), reports that people subscribe to (package
// automation/report, which the scheduler runs). A host makes a store, the services it
// needs, and one [Poller] over them; everything lives in the host's process and
// database. It is not exactly-once: the promise is in the comment of package notify.
//
//	store, err := sqlite.Open(ctx, "app.db", nil)
//	out := notify.New(store, nil, channel)
//	reminders := automation.New(store, out, nil)
//	err = belfry.NewPoller(store, nil, reminders, out).Run(ctx)
package belfry
