package watermill_test

import (
	"context"
	"encoding/json"
	"fmt"

	wm "github.com/ThreeDotsLabs/watermill"
	"github.com/ThreeDotsLabs/watermill/pubsub/gochannel"

	"github.com/belfry-go/belfry/survey"
	"github.com/belfry-go/belfry/survey/subscriber/watermill"
)

// In earnest the publisher is a broker's, such as that of watermill-nats with
// JetStreamConfig{TrackMsgId: true}.
func Example() {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	broker := gochannel.NewGoChannel(gochannel.Config{OutputChannelBuffer: 1}, wm.NopLogger{})
	messages, err := broker.Subscribe(ctx, topic)
	if err != nil {
		fmt.Println(err)
		return
	}
	tickets := watermill.New("nats:tickets", topic, broker)

	// In earnest service.Subscribe(tickets) does this.
	err = tickets.Dispatch(ctx, survey.ResponseCompleted{
		EventID: "survey-response-completed-8f3a", EventType: survey.EventResponseCompleted, SurveyID: 4523, InstancePublicID: "8f3a",
		Answers: json.RawMessage(`{"has-a-complaint":"yes"}`), CandidateMetadata: json.RawMessage(`{}`),
	})
	fmt.Println(err)
	m := <-messages
	fmt.Println(m.UUID, m.Metadata.Get(watermill.MetadataSurveyID))
	m.Ack()
	// Output:
	// <nil>
	// survey-response-completed-8f3a 4523
}
