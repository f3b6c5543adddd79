package automation

import "testing"

//spec:a-078
func TestComparisonsAreExact(t *testing.T) {
	t.Parallel()
	const nearly = "0.90000000000000000000000000000000000000000000000000001"
	for comparison, want := range map[Comparison][3]bool{
		AtLeast: {false, true, true}, MoreThan: {false, false, true}, AtMost: {true, true, false}, LessThan: {true, false, false},
	} {
		for i, reading := range []string{"-0.9", "0.9", nearly} {
			if got := comparison.met(reading, "0.9"); got != want[i] {
				t.Errorf("%s %s 0.9: %v", reading, comparison, got)
			}
		}
	}
}
