package main

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/belfry-go/belfry/internal/contender"
)

func TestEachRowIsReportedOnceOrThereIsNoFigure(t *testing.T) {
	t.Parallel()
	for side, want := range map[string]string{
		"honest":   "",
		"repeats":  "repeats: 101 rows were done, of 100",
		"loses":    "loses: 99 rows were done, of 100",
		"breaks":   "out of luck",
		"vanishes": "ended without an answer",
	} {
		t.Run(side, func(t *testing.T) {
			t.Parallel()
			rate, err := fakeArena(t).drain(t.Context(), side, 1, contender.Task{Rows: 100})
			if want == "" && (err != nil || rate <= 0) {
				t.Errorf("drain = %v, %v", rate, err)
			}
			if want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
				t.Errorf("drain = %v, %v; want %q", rate, err, want)
			}
		})
	}
}

func TestTwoProcessesThatBothReportAllRowsAreRefused(t *testing.T) {
	t.Parallel()
	_, rows, err := fakeArena(t).drainAll(t.Context(), "honest", 2, contender.Task{Rows: 100})
	if err == nil || rows != 200 {
		t.Errorf("drainAll = %d rows, %v", rows, err)
	}
}

func TestMoreRowsAreFineWhereMoreAreThere(t *testing.T) {
	t.Parallel()
	_, rows, err := fakeArena(t).drainAll(t.Context(), "repeats", 1, contender.Task{Rows: 100, AtLeast: true})
	if err != nil || rows != 101 {
		t.Errorf("drainAll = %d rows, %v; want 101", rows, err)
	}
}

func TestASideThatWaitsForALostRowIsEnded(t *testing.T) {
	t.Parallel()
	a := fakeArena(t)
	s := side{name: "sleeps", play: func(ctx context.Context) (map[string]float64, error) {
		_, err := a.drain(ctx, "sleeps", 2, contender.Task{Rows: 1})
		return nil, err
	}}
	_, err := s.within(t.Context(), 300*time.Millisecond)
	if err == nil || !strings.Contains(err.Error(), context.DeadlineExceeded.Error()) {
		t.Errorf("err = %v, want a deadline", err)
	}
}

func TestOneSidesFailureEndsTheOther(t *testing.T) {
	t.Parallel()
	a := fakeArena(t)
	var processes []*contender.Process
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	for _, side := range []string{"sleeps", "breaks"} {
		p, err := contender.Start(ctx, a.command(side), contender.Task{Work: "drain", Rows: 1})
		if err != nil {
			t.Fatal(err)
		}
		processes = append(processes, p)
	}
	if _, _, err := together(processes, 1, cancel); err == nil {
		t.Error("no error")
	}
}
