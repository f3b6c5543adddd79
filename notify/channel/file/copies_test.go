package file

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/belfry-go/belfry/notify/channel"
)

func TestAFileShowsWhoGetsABlindCopy(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	m := message()
	m.Mail = channel.Mail{CC: []string{"kim@example.com"}, BCC: []string{"Archive <archive@example.com>", "b@example.com"}}
	send(t, New(dir, nil), m)
	text, err := os.ReadFile(filepath.Join(dir, id+".eml"))
	if err != nil || !strings.HasPrefix(string(text), "Bcc: \"Archive\" <archive@example.com>,\r\n <b@example.com>\r\n") || !strings.Contains(string(text), "Cc: <kim@example.com>\r\n") {
		t.Errorf("%v: %s", err, text)
	}
}
