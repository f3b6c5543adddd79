// Package surveytest is for the tests of programs that send surveys: a [Host] with a
// store in memory, a clock that the test moves, and the channel "memory:default",
// which records the links (Triggers & Scheduler, "memory:default"). A test tells of
// an event, lets days pass, follows the link, and says what it expects:
//
//	h := surveytest.New(nil)
//	h.Publish(t, survey.Version{SurveyID: 4523, Definition: definition})
//	h.Ingest(t, "service-visit-closed", `{"wip": "40956"}`, survey.Recipient{Address: "+964 770 000 0001"})
//	h.Advance(t, 24*time.Hour)
//	h.Sent(t, 2) // the link, and its reminder
//	link := h.Link(t, "+964 770 000 0001")
//	link.Submit(t, `{"rate": 9}`)
//	link.Is(t, survey.StatusCompleted)
//
// Nothing runs beside the test: links go out, expire and reach subscribers within
// [Host.Advance] only.
package surveytest
