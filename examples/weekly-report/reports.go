package main

import (
	"encoding/csv"
	"fmt"
	"io"
	"time"
)

// branches are the business units, and where their clocks are.
var branches = []struct{ name, zone string }{
	{"dublin", "Europe/Dublin"},     // the clocks change on 29 March
	{"newyork", "America/New_York"}, // on 8 March
	{"riyadh", "Asia/Riyadh"},       // never
	{"sydney", "Australia/Sydney"},  // on 5 April
}

// reports are what each branch gets.
var reports = []struct {
	name    string
	weekday time.Weekday
	hour    int
	html    bool
}{
	{name: "sales", weekday: time.Monday, hour: 9},
	{name: "stock", weekday: time.Thursday, hour: 17, html: true},
}

// subject is how a reader knows a report.
func subject(guid, localDate string) string { return guid + " of " + localDate }

// shelves are the same each week, so that nobody has to understand them.
var shelves = [][]string{{"shelf", "pieces"}, {"bells", "12"}, {"ropes", "7"}}

func writeCSV(w io.Writer) error { return csv.NewWriter(w).WriteAll(shelves) }

func writeHTML(w io.Writer) error {
	rows := ""
	for _, line := range shelves[1:] {
		rows += fmt.Sprintf("<tr><td>%s<td>%s", line[0], line[1])
	}
	_, err := fmt.Fprintf(w, "<!doctype html><title>Stock</title><table>%s</table>\n", rows)
	return err
}
