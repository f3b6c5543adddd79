// Package survey turns an upstream event into a survey link in a customer's hand:
// events are ingested and matched with the triggers of published surveys, links
// are sent through channels, reminded of and expired, one response per link is
// taken, and passed on to subscribers through an outbox (Triggers & Scheduler).
package survey
