package survey

import "strconv"

// limits are the least and the most that a number, a rating, and the count of options
// of a multiple choice may be, as decimals; empty: none.
func (q *Question) limits() (least, most string) {
	switch q.Type {
	case RatingQuestion:
		least, most = "1", "5"
	case MultipleQuestion:
		least, most = "0", strconv.Itoa(len(q.Options))
	}
	if q.Min != nil {
		least = q.Min.String()
	}
	if q.Max != nil {
		most = q.Max.String()
	}
	return least, most
}

// question is the question with that id, or nil.
func (d *Definition) question(id string) *Question {
	for i := range d.Questions {
		if d.Questions[i].ID == id {
			return &d.Questions[i]
		}
	}
	return nil
}
