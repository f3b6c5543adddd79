package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"time"
)

// bar shows how far the months have come: a bar on a terminal, a line for each
// half month elsewhere.
type bar struct {
	w        io.Writer
	terminal bool
	last     string
	earlier  int64 // mails sent before the worker began
}

func newBar(w io.Writer) *bar {
	f, ok := w.(*os.File)
	if !ok {
		return &bar{w: w}
	}
	info, err := f.Stat()
	return &bar{w: w, terminal: err == nil && info.Mode()&os.ModeCharDevice != 0}
}

func (b *bar) show(now time.Time, sent int64) {
	sent += b.earlier
	if !b.terminal {
		half := now.Format("2006-01-") + "01"
		if now.Day() > 15 {
			half = now.Format("2006-01-") + "16"
		}
		if half != b.last {
			b.last = half
			fmt.Fprintf(b.w, "  %s  %3d mails so far\n", half, sent)
		}
		return
	}
	const width = 40
	full := int(width * now.Sub(firstDay) / lastDay.Sub(firstDay))
	fmt.Fprintf(b.w, "\r  %s [%s%s] %3d mails so far", now.Format(time.DateOnly), strings.Repeat("#", full), strings.Repeat(".", width-full), sent)
}

// say prints a line of its own between two steps.
func (b *bar) say(format string, args ...any) {
	if b.terminal {
		fmt.Fprint(b.w, "\r\033[K")
	}
	fmt.Fprintf(b.w, format+"\n", args...)
}
