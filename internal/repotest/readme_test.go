package repotest

import (
	"os"
	"strings"
	"testing"
)

func read(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(root + "/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// The program in the README is the one that is built and run as a test.
func TestTheReadmeShowsTheRealHello(t *testing.T) {
	t.Parallel()
	_, program, _ := strings.Cut(read(t, "examples/hello/main.go"), "func main() {\n")
	readme := read(t, "README.md")
	if !strings.Contains(readme, "func main() {\n"+program) {
		t.Error("README.md does not show the main function of examples/hello/main.go as it is")
	}
	_, output, _ := strings.Cut(read(t, "examples/hello/main_test.go"), "// Output:\n")
	output, _, _ = strings.Cut(output, "}")
	if printed := strings.ReplaceAll(output, "\t// ", "    "); printed == "" || !strings.Contains(readme, "It prints\n\n"+printed+"\n") {
		t.Errorf("README.md does not show what the program prints:\n%s", printed)
	}
	if n := strings.Count(readme, "\n"); n >= 200 {
		t.Errorf("README.md has %d lines", n)
	}
	if n := strings.Count(program, "\n"); n > 25 {
		t.Errorf("hello has %d lines", n)
	}
}
