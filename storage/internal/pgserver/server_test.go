package pgserver

import (
	"errors"
	"testing"
	"time"

	"github.com/benbjohnson/clock"
)

func TestServersThatCannotHoldTheContractAreRefused(t *testing.T) {
	t.Parallel()
	good := facts{version: 150004, encoding: "UTF8"}
	for name, c := range map[string]struct {
		change func(*facts)
		fine   bool
	}{
		"as is":     {func(*facts) {}, true},
		"oldest":    {func(f *facts) { f.version = 140000 }, true},
		"too old":   {func(f *facts) { f.version = 120022 }, false},
		"a replica": {func(f *facts) { f.standby, f.readOnly = true, true }, false},
		"read-only": {func(f *facts) { f.readOnly = true }, false},
		"not UTF-8": {func(f *facts) { f.encoding = "SQL_ASCII" }, false},
	} {
		f := good
		c.change(&f)
		err := f.check()
		var refused *ServerError
		if c.fine && err != nil || !c.fine && !errors.As(err, &refused) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestAPrimaryThatAnotherHasReplacedIsRefused(t *testing.T) {
	t.Parallel()
	var f Following
	denied := &stateError{"42501"}
	gone := errors.New("gone")
	for i, c := range []struct {
		who     string
		err     error
		want    int64
		refused bool
	}{
		{who: "0000000A", want: 10},
		{who: "0000000B", want: 11},
		{who: "0000000A", refused: true},
		{who: "replica", refused: true},
		{who: "read-only", refused: true},
		{err: denied}, // a role that may not ask
		{who: "0000000B", want: 11},
	} {
		got, err := f.Admit(c.who, c.err)
		if got != c.want || errors.As(err, new(*ServerError)) != c.refused || err != nil != c.refused {
			t.Errorf("%d: %d, %v", i, got, err)
		}
	}
	if _, err := f.Admit("", gone); !errors.Is(err, gone) {
		t.Errorf("got %v", err)
	}
	for timeline, want := range map[int64]bool{0: false, 10: true, 11: false} {
		if got := f.Outdated(timeline); got != want {
			t.Errorf("timeline %d is outdated: %t", timeline, got)
		}
	}
}

// A promotion that came to nothing leaves a timeline that no server has. The primary that is
// there after a minute is the one.
func TestAPrimaryThatStaysIsBelievedAfterAMinute(t *testing.T) {
	t.Parallel()
	clk := clock.NewMock()
	f := Following{mono: clk}
	for i, c := range []struct {
		after   time.Duration
		who     string
		refused bool
	}{
		{who: "0000000B"},
		{who: "0000000A", refused: true},
		{after: 40 * time.Second, who: "0000000B"}, // it is there
		{after: 40 * time.Second, who: "0000000A", refused: true},
		{after: 59 * time.Second, who: "0000000A", refused: true},
		{after: time.Second, who: "0000000A"},
		{after: time.Hour, who: "0000000A"},
		{who: "0000000B"},
		{who: "0000000A", refused: true},
	} {
		clk.Add(c.after)
		if _, err := f.Admit(c.who, nil); errors.As(err, new(*ServerError)) != c.refused || err != nil != c.refused {
			t.Errorf("%d: %v", i, err)
		}
	}
}

type stateError struct{ state string }

func (e *stateError) Error() string    { return e.state }
func (e *stateError) SQLState() string { return e.state }
