package keys_test

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"
	_ "time/tzdata" // so that TZ means something wherever the tests run
)

// printEnv makes the test binary print every key, with instants in its local
// zone, and exit: the other process of TestI19_SameKeysInAnotherProcess.
const printEnv = "BELFRY_KEYS_PRINT"

func TestMain(m *testing.M) {
	if os.Getenv(printEnv) != "" {
		_, offset := day.In(time.Local).Zone()
		fmt.Printf("%d\n%s\n", offset, strings.Join(everyKey(time.Local), "\n"))
		os.Exit(0)
	}
	os.Exit(m.Run())
}
