package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"time"
)

// bar shows how far the campaign has come: a bar on a terminal, a line for each
// tenth elsewhere.
type bar struct {
	w        io.Writer
	terminal bool
	size     int
	last     int
	earlier  int64 // mails sent before the worker began
}

func newBar(w io.Writer, size int) *bar {
	b := &bar{w: w, size: size, last: -1}
	if f, ok := w.(*os.File); ok {
		info, err := f.Stat()
		b.terminal = err == nil && info.Mode()&os.ModeCharDevice != 0
	}
	return b
}

func (b *bar) show(l line) {
	sent := b.earlier + l.Sent
	tenth := 10 * int(sent) / b.size
	if !b.terminal {
		if tenth != b.last {
			b.last = tenth
			fmt.Fprintf(b.w, "  %3d %%  %6d made  %6d sent\n", 10*tenth, l.Made, sent)
		}
		return
	}
	const width = 40
	full := min(width*int(sent)/b.size, width)
	fmt.Fprintf(b.w, "\r\033[K  [%s%s] %d made, %d sent", strings.Repeat("#", full), strings.Repeat(".", width-full), l.Made, sent)
	if l.Left > 0 {
		fmt.Fprintf(b.w, ", %s left", l.Left.Round(time.Second))
	}
}

// say prints a line of its own between two steps.
func (b *bar) say(format string, args ...any) {
	if b.terminal {
		fmt.Fprint(b.w, "\r\033[K")
	}
	fmt.Fprintf(b.w, format+"\n", args...)
}
