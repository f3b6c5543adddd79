package surveyhttp

import "github.com/belfry-go/belfry/survey"

// withFaults puts the items that could not be read, which have a fault, between
// those of a report.
func withFaults(r survey.IngestReport, faults []error) survey.IngestReport {
	items := make([]survey.ItemReport, 0, len(faults))
	for _, fault := range faults {
		if fault != nil {
			items = append(items, survey.ItemReport{Outcome: survey.Failed, Reason: fault.Error()})
			r.Failed++
			continue
		}
		items = append(items, r.Items[0])
		r.Items = r.Items[1:]
	}
	r.Items = items
	return r
}
