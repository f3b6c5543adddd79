package browsertest_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"testing"

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

// one is the Chromium of this process, which the first test starts and TestMain ends.
var one struct {
	start sync.Once
	ctx   context.Context
	err   error
	end   []func()
}

func TestMain(m *testing.M) {
	code := m.Run()
	for _, end := range slices.Backward(one.end) {
		end()
	}
	os.Exit(code)
}

// chromium is a context of the browser that all tests share.
func chromium(t *testing.T) context.Context {
	t.Helper()
	path := find(t)
	one.start.Do(func() {
		options := append(slices.Clone(chromedp.DefaultExecAllocatorOptions[:]),
			chromedp.ExecPath(path),
			chromedp.Flag("lang", "en-US"), // dates are typed as month, day and year
		)
		ctx, end := chromedp.NewExecAllocator(context.Background(), options...)
		one.end = append(one.end, end)
		one.ctx, end = chromedp.NewContext(ctx)
		one.end = append(one.end, end)
		one.err = chromedp.Do(one.ctx)
	})
	if one.err != nil {
		t.Fatal(one.err)
	}
	return one.ctx
}

// browse opens a window with a profile of its own. It has the focus as far as its page
// knows, whatever the tests beside it do.
func browse(t *testing.T, w window) context.Context {
	t.Helper()
	ctx, cancel := chromedp.NewContext(chromium(t), chromedp.WithNewBrowserContext())
	t.Cleanup(cancel)
	do(ctx, t, chromedp.EmulateViewport(w.width, w.height))
	_, err := chromedp.Call(ctx, emulation.SetFocusEmulationEnabled, emulation.SetFocusEmulationEnabledParams{Enabled: true})
	if err != nil {
		t.Fatal(err)
	}
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
