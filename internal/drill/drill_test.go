package main

import (
	"bytes"
	"context"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/belfry-go/belfry/internal/pgtest"
	"github.com/belfry-go/belfry/internal/testlevel"
)

// TestMain lets the test's own program be the process that is killed.
func TestMain(m *testing.M) {
	if dsn := os.Getenv(childVariable); dsn != "" {
		exitOn(child(context.Background(), dsn))
		return
	}
	pgtest.Main(m)
}

// quick are the smallest sizes.
var quick = sizes{
	full: true, samples: 5, hung: 2500, elsewhere: 5000, rounds: 1, flood: 8_000, refused: time.Hour,
	away: 3 * time.Second, slots: 3 * time.Second, lease: 10 * time.Second, kills: 1, messages: 50, tenants: 100,
	dead: 2000, long: 2000, short: 200,
}

// played plays a day on a database to its end, and expects figures. Whether they keep
// their bounds is for `make drill`, which has the machine for itself.
func played(t *testing.T, database, name string) {
	t.Helper()
	var out bytes.Buffer
	p := program{days: days(), databases: []string{database}, sizes: quick, out: &out}
	if err := p.pick(name, ""); err != nil {
		t.Fatal(err)
	}
	if err := p.play(t.Context()); err != nil && !errors.Is(err, errShort) {
		t.Errorf("%v:\n%s", err, out.String())
	}
	text := out.String()
	if strings.Count(text, " ok\n")+strings.Count(text, " FELL SHORT\n") == 0 {
		t.Errorf("no figure:\n%s", text)
	}
	t.Log(text)
}

func TestEveryDayCanBePlayedOnSQLite(t *testing.T) {
	t.Parallel()
	testlevel.Need(t, testlevel.Nightly)
	for _, d := range days() {
		t.Run(d.name, func(t *testing.T) {
			if len(d.on) > 0 && !slices.Contains(d.on, sqliteName) {
				t.Skip("SQLite has no such day")
			}
			played(t, sqliteName, d.name)
		})
	}
}

func TestEveryDayCanBePlayedOnPostgreSQL(t *testing.T) {
	t.Parallel()
	testlevel.Need(t, testlevel.Nightly)
	for _, d := range days() {
		t.Run(d.name, func(t *testing.T) { played(t, postgresName, d.name) })
	}
}

// A day that falls short is said, and ends the program with an error.
func TestADayThatFallsShortIsSaid(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	bad := day{name: "bad", play: func(context.Context, *ground) ([]figure, error) {
		return []figure{within("one", time.Second, time.Second), atLeast("another", 1, 2)}, nil
	}}
	p := program{days: []day{bad}, databases: []string{sqliteName}, sizes: quick, out: &out}
	if err := p.play(t.Context()); !errors.Is(err, errShort) {
		t.Errorf("the end is %v", err)
	}
	if text := out.String(); strings.Count(text, " ok\n") != 1 || strings.Count(text, " FELL SHORT\n") != 1 {
		t.Error(text)
	}
}

// A day that mostly waits is had by all databases at the same time, and each has figures
// of its own.
func TestAnIdleDayIsPlayedOnAllAtOnce(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	met := make(chan struct{})
	idle := day{name: "idle", idle: true, play: func(ctx context.Context, g *ground) ([]figure, error) {
		select {
		case met <- struct{}{}:
			return []figure{none("first", 0)}, nil
		case <-met:
			return []figure{none("second", 1)}, nil
		case <-ctx.Done():
			return nil, errors.New("it is alone")
		}
	}}
	var out bytes.Buffer
	p := program{days: []day{idle}, databases: []string{sqliteName, sqliteName}, sizes: quick, out: &out}
	if err := p.play(ctx); !errors.Is(err, errShort) {
		t.Error(err)
	}
	if text := out.String(); strings.Count(text, "first at most") != 1 || strings.Count(text, "second at most") != 1 {
		t.Error(text)
	}
}

func TestOnlyWhatIsNamedIsPlayed(t *testing.T) {
	t.Parallel()
	p := program{days: days(), databases: []string{sqliteName, postgresName}}
	if p.pick("no such day", "") == nil || p.pick("", "memory") == nil {
		t.Error("what is unknown passes")
	}
	if err := p.pick("kill, away", postgresName); err != nil || len(p.days) != 2 || len(p.databases) != 1 {
		t.Errorf("%v, %v, %v", p.days, p.databases, err)
	}
}

// A server that has just ended its trouble may have no slot free when it is asked.
func TestAQuestionThatFailsIsAskedAgain(t *testing.T) {
	t.Parallel()
	asked := 0
	err := until(t.Context(), "it answers", func() (bool, error) {
		if asked++; asked < 3 {
			return false, errors.New("sorry, too many clients already")
		}
		return true, nil
	})
	if err != nil || asked != 3 {
		t.Errorf("%v after %d questions", err, asked)
	}
}
