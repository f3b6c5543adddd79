package ses

import (
	"os"
	"strings"
	"testing"

	"github.com/belfry-go/belfry/internal/tabletest"
)

// The table is printed in another module, which cannot ask this one.
func TestItsLineInTheTableOfChannelsIsWhatItDeclares(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../../docs/channels.md")
	if err != nil {
		t.Fatal(err)
	}
	row := tabletest.Row(open(t, "https://email.eu-west-1.amazonaws.com", Options{ConfigurationSet: "belfry"}))
	if !strings.Contains(string(page), "\n"+row) {
		t.Errorf("docs/channels.md has another line than\n%s", row)
	}
}
