package ses

import (
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/belfry-go/belfry/internal/tabletest"
	"github.com/belfry-go/belfry/notify/channel"
	"github.com/belfry-go/belfry/notify/channel/internal/faults"
)

// Each answer is whose fault the table of all channels says.
func TestEachAnswerIsWhoseFaultTheTableSays(t *testing.T) {
	t.Parallel()
	all, err := faults.Rows()
	if err != nil {
		t.Fatal(err)
	}
	tried := 0
	for _, r := range all {
		if r.Channel != "ses" {
			continue
		}
		tried++
		t.Run(r.Answer, func(t *testing.T) {
			t.Parallel()
			status, code, _ := strings.Cut(r.Answer, " ")
			number, err := strconv.Atoi(status)
			if err != nil {
				t.Fatal(err)
			}
			c, _ := opened(t, says(number, code))
			_, err = c.Send(t.Context(), letter())
			if e := channel.Classify(err); e == nil || e.Class != r.Class || e.Fault != r.Fault {
				t.Errorf("%+v, want %s, %q", e, r.Class, r.Fault)
			}
		})
	}
	if tried == 0 {
		t.Error("ses is not in the table")
	}
}

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
