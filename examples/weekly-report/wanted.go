package main

import "time"

// wantedReport is a report that people expect in an hour.
type wantedReport struct{ guid, unit, localDate string }

// wanted are the reports of the hour that begins now, by the clocks of the branches.
func wanted(now time.Time) (all []wantedReport, err error) {
	for _, b := range branches {
		zone, err := time.LoadLocation(b.zone)
		if err != nil {
			return nil, err
		}
		local := now.In(zone)
		for _, r := range reports {
			if local.Weekday() == r.weekday && local.Hour() == r.hour {
				all = append(all, wantedReport{b.name + "-" + r.name, b.name, local.Format(time.DateOnly)})
			}
		}
	}
	return all, nil
}

// busy reports whether a report is wanted in this hour or in one beside it. The
// story skips the others, in which neither side has anything to do.
func busy(now time.Time) (bool, error) {
	for _, hours := range []time.Duration{-1, 0, 1} {
		all, err := wanted(now.Add(hours * time.Hour))
		if err != nil || len(all) > 0 {
			return true, err
		}
	}
	return false, nil
}
