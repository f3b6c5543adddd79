package main

import (
	"context"

	"github.com/belfry-go/belfry/automation"
	"github.com/belfry-go/belfry/automation/settings"
	"github.com/belfry-go/belfry/notify"
)

// What the firm tells Belfry of.
const (
	reminder = "invoice" // the reminder type
	entered  = "invoice.entered"
	paid     = "invoice.paid"
)

// wording is the same for every offset.
var wording = notify.Template{
	Subject: `Invoice {{.Source.ID}} {{if gt .DaysBefore 0}}is{{else}}was{{end}} due on {{.TargetDate}}`,
	Text:    "Dear {{.Recipient.Name}},\n\nplease pay invoice {{.Source.ID}}, or forget this if you have.\n",
}

// dueDates says which date an invoice has; the offsets are in the settings.
func (b *books) dueDates(_ context.Context, e automation.Event) ([]settings.Target, error) {
	i := b.invoice(e.Source.ID)
	if i == nil || i.paid {
		return nil, nil
	}
	return []settings.Target{{Date: i.due, BusinessUnit: i.branch}}, nil
}

// paidInvoices ends the reminders of an invoice as soon as it is paid.
type paidInvoices struct{}

func (paidInvoices) EventTypes() []string { return []string{paid} }

func (paidInvoices) Invalidations(_ context.Context, e automation.Event) ([]automation.Invalidation, error) {
	return []automation.Invalidation{{Setting: setting, Source: e.Source, Reason: "Paid"}}, nil
}

// stillOpen is asked when a reminder is due. It catches what no event told of.
func (b *books) stillOpen(_ context.Context, d automation.Due) (automation.Validity, error) {
	if i := b.invoice(d.Source.ID); i == nil || i.paid {
		return automation.NoLongerValid("Paid"), nil
	}
	return automation.StillValid(), nil
}

// customer is asked when a reminder is due, so a new address counts.
func (b *books) customer(_ context.Context, d automation.Due) ([]notify.Recipient, error) {
	name := b.invoice(d.Source.ID).customer
	return []notify.Recipient{{Ref: name, Name: name, Channel: b.channel, Address: name + "@mail.example"}}, nil
}

// reach is how many days a reminder may be away from the due date: the widest
// offset, and some for the calendar.
const reach = 21

// open is the query of reconciliation: a page of the invoices that are not paid
// and have a reminder in the window.
func (b *books) open(_ context.Context, r automation.ScanRequest) (automation.ScanPage, error) {
	var page automation.ScanPage
	for _, i := range b.invoices {
		seen := i.changed.Before(r.ChangedSince) && i.due.Before(r.NewFrom.AddDays(-reach))
		if i.paid || seen || i.id <= r.After || i.due.Before(r.From.AddDays(-reach)) || i.due.After(r.To.AddDays(reach)) {
			continue
		}
		if len(page.Sources) == r.Limit {
			return page, nil
		}
		page.Next = i.id
		page.Sources = append(page.Sources, automation.ScannedSource{
			Source: automation.Source{Type: "invoice", ID: i.id}, Version: i.version(),
		})
	}
	page.Done = true
	return page, nil
}
