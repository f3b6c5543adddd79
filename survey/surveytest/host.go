package surveytest

import (
	"time"

	"github.com/benbjohnson/clock"

	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/notify/notifytest"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/memory"
	"github.com/belfry-go/belfry/survey"
)

// MemoryChannel is the key of the channel that a Host has.
const MemoryChannel = "memory:default"

// TB is what the methods of this package need of a testing.TB.
type TB = notifytest.TB

// Options are the settings of a Host; nil and every zero value are useful.
type Options struct {
	// Survey are the settings of the service. Without a SurveyURL of its own it has
	// "https://host.example/s/{token}".
	Survey survey.Options
	// Scope is the tenant whose surveys these are.
	Scope survey.Scope
	// Channel records the links; nil: one with the key [MemoryChannel] that accepts
	// all of them. One that refuses, or has the key that the program's own
	// definition names, comes from package notifytest:
	//
	//	notifytest.Failing(err).As("sms:twilio")
	Channel *notifytest.Recorder
	// Channels are further ones.
	Channels []notify.Channel
}

// Host is a program with surveys, for a test. The test calls it from one goroutine.
type Host struct {
	// Surveys is the service: the test subscribes to it, and calls what the Host
	// has no method for.
	Surveys *survey.Service
	Store   storage.Store
	// Clock stands still but for [Host.Advance]. It begins on 14 May 2026 at
	// 05:12:34 UTC.
	Clock *clock.Mock
	// Channel has the links that were sent.
	Channel *notifytest.Recorder

	scope survey.Scope
	url   string // the template of links
}

var begin = time.Date(2026, time.May, 14, 5, 12, 34, 0, time.UTC)

// New makes a Host. It panics where survey.New does, such as on two channels of one
// key.
func New(opts *Options) *Host {
	var o Options
	if opts != nil {
		o = *opts
	}
	if o.Channel == nil {
		o.Channel = notifytest.NewRecorder().As(MemoryChannel)
	}
	if o.Survey.SurveyURL == "" {
		o.Survey.SurveyURL = "https://host.example/s/{token}"
	}
	h := &Host{Clock: clock.NewMock(), Channel: o.Channel, scope: o.Scope, url: o.Survey.SurveyURL}
	h.Clock.Set(begin)
	h.Store = memory.New(&memory.Options{Clock: h.Clock})
	h.Surveys = survey.New(h.Store, &o.Survey, append([]notify.Channel{o.Channel}, o.Channels...)...)
	return h
}
