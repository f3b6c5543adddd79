// Package notifytest has channels for the tests of programs that send: one that
// records what it is given, and others that refuse, follow a script, or hold
// each call until the test lets it go. All of them record, so that a test says
// what it expects in a line:
//
//	mails := notifytest.NewRecorder()
//	out := notify.New(store, nil, mails)
//	// the program does its work
//	mails.Sent(t, 1)
//	m := mails.To(t, "sam@example.com")
//
// A message id that is accepted twice is a message sent twice. So the second one is
// refused, and the test's next assertion fails, unless repeats are allowed.
package notifytest
