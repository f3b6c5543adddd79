package exampletest_test

import (
	"fmt"
	"os"
	"os/exec"
	"testing"

	"github.com/belfry-go/belfry/internal/exampletest"
)

// program is an example that starts itself once more, as a worker.
func program() {
	if len(os.Args) > 1 && os.Args[1] == "-worker" {
		fmt.Println("worker of", os.Args[2])
		return
	}
	out, err := exec.Command(os.Args[0], "-worker", os.Args[1]).Output()
	fmt.Printf("program with %s: %s%v\n", os.Args[1], out, err)
}

func TestMain(m *testing.M) { exampletest.Main(m, program) }

func TestTheTestIsTheExampleAndItsWorkerToo(t *testing.T) {
	t.Parallel()
	out := exampletest.Run(t, "bells")
	exampletest.Expect(t, out, `^program with bells: worker of bells\n<nil>\n$`)
}
