package storagetest

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

// faultVariable names the fault under which this binary runs the suite.
const faultVariable = "STORAGETEST_FAULT"

const sound = "none"

// TestUnderFault is the suite on a faulty store; TestFaultsAreNoticed runs it.
func TestUnderFault(t *testing.T) {
	name := os.Getenv(faultVariable)
	if name == "" {
		t.Skip("runs only in a process of TestFaultsAreNoticed")
	}
	h := Harness{
		NoJoin: "memory", NoSecondHandle: "memory", NoInspect: "memory", NoFolder: "memory", Alone: "memory",
		Open: func(t testing.TB, o Options) *Instance {
			return &Instance{Store: newFaulty(t, faultNamed(name), o)}
		},
	}
	if name == "an undeclared inability" {
		h.NoJoin = ""
	}
	Run(t, h)
}

func faultNamed(name string) fault {
	for _, f := range faults {
		if f.name == name {
			return f
		}
	}
	return fault{}
}

// TestFaultsAreNoticed shows that the suite can fail: for each fault
// the theme that is about it does.
func TestFaultsAreNoticed(t *testing.T) {
	t.Parallel()
	for _, f := range faults {
		t.Run(f.name, func(t *testing.T) {
			t.Parallel()
			out, err := suiteUnder(t, f)
			if err == nil || !strings.Contains(out, "--- FAIL: TestUnderFault/"+f.theme) {
				t.Errorf("the theme %q did not notice it; %v:\n%s", f.theme, err, out)
			}
		})
	}
}

// TestSoundStorePasses shows that it is the faults that fail, not the wrapper.
func TestSoundStorePasses(t *testing.T) {
	t.Parallel()
	if out, err := suiteUnder(t, fault{name: sound, theme: ".*"}); err != nil {
		t.Errorf("%v:\n%s", err, out)
	}
}

// suiteUnder runs a theme in a process of its own, since it is to fail. It ends with the
// first sentence that fails: a later one may wait for what a faulty store does not do.
func suiteUnder(t *testing.T, f fault) (out string, err error) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0],
		"-test.run=^TestUnderFault$/^"+f.theme+"$", "-test.failfast", "-test.parallel=2",
		"-rapid.nofailfile", "-rapid.shrinktime=0s")
	cmd.Env = append(os.Environ(), faultVariable+"="+f.name)
	all, err := cmd.CombinedOutput()
	return string(all), err
}
