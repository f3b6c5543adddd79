// Package watermill is a subscriber of survey responses that publishes each of them
// through a Watermill publisher, and so to any broker that Watermill knows: NATS,
// Kafka, AMQP, Google Cloud Pub/Sub, Amazon SQS.
//
// The payload of the message is a [survey.ResponseCompleted] as JSON, the same at
// each attempt, and its UUID is the event's id. A response is published at least
// once, so consumers, or the broker, have to know an id again. JetStream does it by
// itself for its duplicate window: with TrackMsgId in the JetStreamConfig of
// watermill-nats the UUID is the Nats-Msg-Id.
package watermill
