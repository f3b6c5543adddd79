package survey

import (
	"github.com/belfry-go/belfry/notify/channel"
)

// ISurveyChannel is the specification's name for the transport of a survey
// link: one concept serves notifications and surveys.
type ISurveyChannel = channel.Channel

// ISurveyResponseSubscriber is the specification's name for a system that hears
// of responses.
type ISurveyResponseSubscriber = Subscriber
