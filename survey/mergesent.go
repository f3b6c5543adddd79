package survey

import (
	"time"

	"github.com/belfry-go/belfry/storage"
)

// mergeSent brings what came of a call into a row that somebody else wrote
// meanwhile (the beacon of an opened form, a submission, support): the call is
// never forgotten, and no status goes backwards. What was decided without a call is
// dropped, and decided anew if the row is still due.
func (s *Service) mergeSent(stored, mine *Instance, held bool) bool {
	if !mine.called() {
		return held && stored.uncall()
	}
	stored.Log = mine.Log
	stored.LastSentOn = later(stored.LastSentOn, mine.LastSentOn)
	if !stored.CallStartedOn.IsZero() && stored.Calls == mine.Calls { // else somebody has settled this call
		stored.takeCall(mine)
	}
	stored.lookAgain(storage.Now(s.store))
	return true
}

// takeCall is the end of the call that the row is about.
func (i *Instance) takeCall(mine *Instance) {
	i.CallStartedOn = time.Time{}
	if !i.isOpen() {
		i.InDoubt = false
		return
	}
	if i.Status == StatusPending {
		i.become(mine.Status)
	}
	i.SendOrdinal = mine.SendOrdinal
	if i.NextSendOn.IsZero() { // support has stopped it
		i.settleCall()
		return
	}
	held := i.IsOnSupportHold && i.ReasonCode == ReasonHeldBySupport
	i.CallStartedOn, i.InDoubt, i.NextTryOn = mine.CallStartedOn, mine.InDoubt, mine.NextTryOn
	i.NextSendOn, i.RemindersRemaining, i.StoppedOn = mine.NextSendOn, mine.RemindersRemaining, mine.StoppedOn
	i.Tries, i.IsOnSupportHold = mine.Tries, held
	if !held {
		i.ReasonCode = mine.ReasonCode
	}
}

// uncall ends a call that was recorded and is known not to have been made, and
// reports whether there was one.
func (i *Instance) uncall() bool {
	if i.CallStartedOn.IsZero() || i.InDoubt {
		return false
	}
	i.CallStartedOn = time.Time{}
	return true
}
