package main

import (
	"cmp"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
)

// report prints the table, and below it the keys that explain it.
func report(w io.Writer, told []map[string][]string) error {
	fmt.Fprintln(w, "A class has 20 places. Whoever is told hears when 16 are taken, and when 20 are.")
	fmt.Fprintln(w)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprint(t, "\t\t")
	for _, who := range subscribers {
		fmt.Fprintf(t, "\t%s", who.name)
	}
	fmt.Fprint(t, "\nwhen\twhat happens\ttaken")
	for _, who := range subscribers {
		fmt.Fprintf(t, "\t%s", who.policy)
	}
	total := map[string]int{}
	for i, s := range history {
		fmt.Fprintf(t, "\n%s\t%s\t%d", s.at.Format("Mon 15:04"), s.what, s.taken)
		for _, who := range subscribers {
			total[who.name] += len(told[i][who.name])
			fmt.Fprintf(t, "\t%s", cmp.Or(cell(told[i][who.name]), "."))
		}
	}
	fmt.Fprint(t, "\n\tmails\t")
	for _, who := range subscribers {
		fmt.Fprintf(t, "\t%d", total[who.name])
	}
	fmt.Fprintln(t)
	if err := t.Flush(); err != nil {
		return err
	}
	return explain(w, told)
}

// explain lists the keys of what was sent.
func explain(w io.Writer, told []map[string][]string) error {
	fmt.Fprint(w, `
The event that came twice, and the one that came late, told nobody: the row was
there already, and the late one was older than what the class had shown. On
Thursday the class is full and nobody books: nothing fires by itself.

Why they differ: the policy decides what of an occasion stands in the key of its
row, and what was done under a key is never done again.
`)
	for _, who := range subscribers {
		fmt.Fprintf(w, "\n%s, %s. %s\n", who.name, who.policy, who.why)
		for _, heard := range told {
			for _, key := range heard[who.name] {
				fmt.Fprintf(w, "  %s\n", strings.TrimPrefix(key, "reminder:"+who.name+":class:yoga:default:threshold:"))
			}
		}
	}
	return nil
}
