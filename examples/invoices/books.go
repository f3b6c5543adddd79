package main

import (
	"time"

	"github.com/belfry-go/belfry/automation"
)

// invoice is a row of the firm's own.
type invoice struct {
	id, customer, branch string
	due                  automation.Date
	paid                 bool
	changed              time.Time
}

// version grows with each change.
func (i *invoice) version() int64 { return i.changed.UnixMicro() }

// books are the firm's data. Only the story writes them, never while the poller
// works; in a real program they are tables.
type books struct {
	invoices []*invoice // by id
	channel  string
}

func invoices() []*invoice {
	return []*invoice{
		{id: "1001", customer: "ada", branch: "dublin", due: date(time.April, 20)},
		{id: "1002", customer: "ben", branch: "dublin", due: date(time.April, 22)},
		{id: "1003", customer: "carla", branch: "riyadh", due: date(time.April, 20)},
		{id: "1004", customer: "dan", branch: "dublin", due: date(time.April, 24)},
		{id: "1005", customer: "eve", branch: "dublin", due: date(time.March, 30)},
		{id: "1006", customer: "fay", branch: "dublin", due: date(time.February, 20)},
	}
}

func (b *books) invoice(id string) *invoice {
	for _, i := range b.invoices {
		if i.id == id {
			return i
		}
	}
	return nil
}

func date(month time.Month, day int) automation.Date {
	return automation.Date{Year: 2026, Month: month, Day: day}
}
