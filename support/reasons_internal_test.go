package support

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"
)

// ofWork has each code that package automation and reports write, so that a reminder's is
// not taken for one of the program.
func TestEachCodeOfWorkIsKnown(t *testing.T) {
	t.Parallel()
	used, sources := map[string]bool{}, 0
	for _, folder := range []string{"../automation", "../automation/report"} {
		files, err := filepath.Glob(folder + "/*.go")
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			if matched, _ := filepath.Match("*_test.go", filepath.Base(file)); matched {
				continue
			}
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			sources++
			for _, m := range regexp.MustCompile(`\breasons\.([A-Z]\w*)`).FindAllSubmatch(text, -1) {
				used[string(m[1])] = true
			}
		}
	}
	for code := range used {
		if !ofWork[code] {
			t.Errorf("%s is missing", code)
		}
	}
	for code := range ofWork {
		if !used[code] {
			t.Errorf("no code of automation writes %s", code)
		}
	}
	if sources == 0 {
		t.Error("no sources")
	}
}
