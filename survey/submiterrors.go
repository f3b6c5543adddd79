package survey

import "errors"

// ErrNoSurvey says that nothing can be answered there: no such link or instance,
// an expired one, a deleted one. Which of them it does not say, so that nobody
// learns anything by trying links.
var ErrNoSurvey = errors.New("survey: there is no survey to be answered here")

// ErrAnswered says that another response was there first. It stands.
var ErrAnswered = errors.New("survey: the survey has been answered already")
