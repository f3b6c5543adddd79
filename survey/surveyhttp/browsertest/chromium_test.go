package browsertest_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"

	"github.com/belfry-go/belfry/internal/testlevel"
)

// names are the programs that are looked for.
var names = []string{"chromium", "chromium-browser", "google-chrome-stable", "google-chrome"}

// find is the path of a Chromium. A test without one is skipped, but not where
// nobody would notice.
func find(t *testing.T) string {
	t.Helper()
	for _, name := range names {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	testlevel.Lacks(t, "no Chromium on this machine, which the tests of the form need (make setup-browser installs Debian's)")
	return ""
}

// window is what a customer looks at.
type window struct {
	width, height int64
	script        bool // JavaScript is on
}

// browse starts a browser of the test's own.
func browse(t *testing.T, w window) context.Context {
	t.Helper()
	options := append(slices.Clone(chromedp.DefaultExecAllocatorOptions[:]),
		chromedp.ExecPath(find(t)),
		chromedp.UserDataDir(t.TempDir()),
		chromedp.Flag("lang", "en-US"), // dates are typed as month, day and year
	)
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewExecAllocator(ctx, options...)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewContext(ctx)
	t.Cleanup(cancel)
	do(ctx, t, chromedp.EmulateViewport(w.width, w.height))
	scripts(ctx, t, w.script)
	return ctx
}

// scripts switches the JavaScript of pages on or off.
func scripts(ctx context.Context, t *testing.T, on bool) {
	t.Helper()
	_, err := chromedp.Call(ctx, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: !on})
	if err != nil {
		t.Fatal(err)
	}
}

func do(ctx context.Context, t *testing.T, steps ...chromedp.Action[chromedp.Void]) {
	t.Helper()
	if err := chromedp.Do(ctx, steps...); err != nil {
		t.Fatal(err)
	}
}

// eval is the value of an expression, which works without JavaScript on the page too.
func eval[V any](ctx context.Context, t *testing.T, expression string, options ...chromedp.EvaluateOption) V {
	t.Helper()
	out, err := chromedp.Run(ctx, chromedp.Evaluate[V](expression, options...))
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// picture writes the whole page to a file where somebody wants to look at it.
func picture(ctx context.Context, t *testing.T, name string) {
	t.Helper()
	dir := os.Getenv("BELFRY_SCREENSHOTS")
	if dir == "" {
		return
	}
	png, err := chromedp.Run(ctx, chromedp.FullScreenshot(100))
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, name+".png"), png, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}
