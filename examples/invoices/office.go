package main

import (
	"context"
	"time"

	"github.com/belfry-go/belfry/automation"
	"github.com/belfry-go/belfry/automation/settings"
)

// setting is the id of the one reminder setting.
const setting = "payment"

// branches work on different days. A reminder that falls on a day off goes out
// before it in Dublin, and after it in Riyadh.
var branches = []settings.BusinessUnit{
	{ID: "dublin", Zone: "Europe/Dublin", Calendar: settings.Calendar{
		Weekend:  []time.Weekday{time.Saturday, time.Sunday},
		Holidays: []automation.Date{date(time.April, 6), date(time.May, 4)}, // Easter Monday, the May holiday
		Shift:    settings.ShiftPrevious,
	}},
	{ID: "riyadh", Zone: "Asia/Riyadh", Calendar: settings.Calendar{
		Weekend: []time.Weekday{time.Friday, time.Saturday},
		Shift:   settings.ShiftNext,
	}},
}

// configure is what an administrator enters at the beginning.
func configure(ctx context.Context, set *settings.Settings) error {
	for _, b := range branches {
		if _, err := set.SaveBusinessUnit(ctx, b); err != nil {
			return err
		}
	}
	_, err := set.SaveReminder(ctx, settings.ReminderSetting{
		ID: setting, Type: reminder, Active: true, Offsets: []int{14, 3, -1, -14}, SendAt: "09:00",
	})
	return err
}

// change is what the administrator does later.
func change(ctx context.Context, set *settings.Settings) error {
	r, err := set.Reminder(ctx, "", setting)
	if err != nil {
		return err
	}
	r.Offsets, r.SendAt = append(r.Offsets, -7), "08:00"
	_, err = set.SaveReminder(ctx, r)
	return err
}
