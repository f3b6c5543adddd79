package survey

import (
	"testing"
	"time"

	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/survey/form"
)

// I-16: a transition that is not in the table is a programmer's error.
//
//spec:t-046
func TestI16_NothingLeavesAnEnd(t *testing.T) {
	t.Parallel()
	for _, end := range machine.Terminal {
		for name, leave := range map[string]func(*Instance){
			"expire": func(i *Instance) { i.expire(time.Unix(1, 0)) },
			"become": func(i *Instance) { i.become(StatusSent) },
		} {
			t.Run(end+" "+name, func(t *testing.T) {
				t.Parallel()
				i := &Instance{Record: storage.Record{Status: end}}
				defer func() {
					if recover() == nil && i.Status != end {
						t.Errorf("it is %s now", i.Status)
					}
				}()
				leave(i)
			})
		}
	}
}

// The beacon of an opened form comes while the channel is called: the form stays
// opened, and keeps its reminders.
func TestACallUnderWayDoesNotUndoABeacon(t *testing.T) {
	t.Parallel()
	at := time.Unix(1000, 0)
	stored := &Instance{Record: storage.Record{Status: StatusOpened}, Channel: "c", NextSendOn: at, RemindersRemaining: 1, Calls: 1, CallStartedOn: at, OpenedOn: at}
	mine := &Instance{Record: storage.Record{Status: StatusPending}, Channel: "c", NextSendOn: at, RemindersRemaining: 1, Calls: 1, CallStartedOn: at}
	mine.logCall(at, DeliveryDelivered, "", "")
	mine.sent(at, []form.Duration{form.Duration(aDay)})
	stored.takeCall(mine)
	if stored.Status != StatusOpened || !stored.NextSendOn.Equal(at.Add(aDay)) || stored.SendOrdinal != 1 || !stored.CallStartedOn.IsZero() {
		t.Errorf("the row is %+v", stored)
	}
}

// The write before a call was committed, its reply was lost, and it could not be
// read back: no call was made, and the row does not say that one was.
func TestACallThatWasNotMadeLeavesNoDoubt(t *testing.T) {
	t.Parallel()
	at := time.Unix(1000, 0)
	called := &Instance{Record: storage.Record{Status: StatusPending}, Channel: "c", NextSendOn: at, Calls: 1, CallStartedOn: at}
	mine := &Instance{Record: storage.Record{Status: StatusPending}, Channel: "c", NextSendOn: at}
	for _, held := range []bool{true, false} {
		stored := *called
		if changed := new(Service).asker().mergeSent(&stored, mine, held); changed != held || stored.CallStartedOn.IsZero() != held {
			t.Errorf("held %v: changed %v: %+v", held, changed, stored)
		}
	}
}
