package notify

import (
	"time"

	"github.com/belfry-go/belfry/storage"
)

func (s *Schedule) become(status string) {
	scheduleStates.Must(s.Status, status)
	s.Status = status
}

func (s *Schedule) dispatched(now time.Time) {
	s.become(StatusDispatched)
	s.DueOn, s.NextRetryOn, s.EndedOn = time.Time{}, time.Time{}, now
}

// skipped ends the schedule of what nobody wants.
func (s *Schedule) skipped(now time.Time, reason string) {
	s.become(StatusSkipped)
	s.ReasonCode = reason
	s.DueOn, s.NextRetryOn, s.EndedOn = time.Time{}, time.Time{}, now
}

// failed is the end of a try, whatever that try had already decided.
func (s *Schedule) failed(now time.Time, reason string) {
	s.Status, s.EndedOn = StatusProcessing, time.Time{}
	next, ok := s.Tries.failed(now, s.Key, reason)
	s.DueOn = next
	if ok {
		s.become(StatusReady)
		return
	}
	s.become(StatusFailed)
	s.EndedOn = now
	s.put(HoldRetries)
}

// abandoned is a claim whose lease ran out.
func (s *Schedule) abandoned(now time.Time) {
	s.LeaseLossCount++
	s.failed(now, ReasonLeaseLost)
}

func (s *Schedule) released(time.Time) { s.become(StatusReady) }

// wake makes the job of a due schedule ready, or skips it for a reason; one past
// Created is left alone.
func (j *Job) wake(now time.Time, skip string) bool {
	if skip != "" && j.Status == StatusCreated {
		j.skipped(now, skip)
		return true
	}
	return wake(&j.Record, now)
}

func wake(r *storage.Record, now time.Time) bool {
	if r.Status != StatusCreated {
		return false
	}
	r.Status, r.DueOn = StatusReady, now
	return true
}
