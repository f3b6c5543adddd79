package keys_test

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// everyKey builds every vector with its instants in zone.
func everyKey(zone *time.Location) []string {
	var built []string
	for _, v := range vectors {
		got, err := v.build(zone)
		if err != nil {
			got = err.Error()
		}
		built = append(built, fmt.Sprintf("%q", got))
	}
	return built
}

// TestI19_SameKeysInEveryZone moves the instants to zones whose local date is
// the day before and the day after.
func TestI19_SameKeysInEveryZone(t *testing.T) {
	t.Parallel()
	want := everyKey(time.UTC)
	for _, hours := range []float64{-12, -8.5, -0.01, 5.75, 14, 23.99} {
		zone := time.FixedZone("somewhere", int(hours*3600))
		if diff := cmp.Diff(want, everyKey(zone)); diff != "" {
			t.Errorf("%v hours east of UTC (-want +got):\n%s", hours, diff)
		}
	}
}

// TestI19_SameKeysFromManyGoroutines is for the race detector too.
func TestI19_SameKeysFromManyGoroutines(t *testing.T) {
	t.Parallel()
	want := everyKey(time.UTC)
	got := make([][]string, 16)
	var done sync.WaitGroup
	for i := range got {
		done.Go(func() { got[i] = everyKey(time.FixedZone("", i*1800)) })
	}
	done.Wait()
	for i := range got {
		if diff := cmp.Diff(want, got[i]); diff != "" {
			t.Errorf("goroutine %d (-want +got):\n%s", i, diff)
		}
	}
}

// TestI19_SameKeysInAnotherProcess runs this binary again under other zones
// and languages, with other seeds of map iteration.
func TestI19_SameKeysInAnotherProcess(t *testing.T) {
	t.Parallel()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for zone, offset := range map[string]int{"UTC": 0, "Asia/Kathmandu": 20700, "America/St_Johns": -12600, "Pacific/Kiritimati": 50400} {
		t.Run(zone, func(t *testing.T) {
			t.Parallel()
			child := exec.CommandContext(t.Context(), exe)
			child.Env = append(os.Environ(), printEnv+"=1", "TZ="+zone, "LC_ALL=tr_TR.UTF-8")
			out, err := child.Output()
			if err != nil {
				t.Fatal(err)
			}
			want := append([]string{fmt.Sprint(offset)}, everyKey(time.UTC)...)
			if diff := cmp.Diff(want, strings.Split(strings.TrimSpace(string(out)), "\n")); diff != "" {
				t.Errorf("-here +there:\n%s", diff)
			}
		})
	}
}
