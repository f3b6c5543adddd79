// Package automationhttp serves the runs of report subscriptions to support, over
// HTTP (Report Subscription, "Lifecycle & support"), for a host that mounts
// [ReportRuns] behind its own router. It works for nobody whom the host has not let
// in; whose runs a caller sees, and whether the caller may ask for one, follows from
// the host's word and never from the request.
//
// [OpenAPI] describes every route, for clients and their generators.
package automationhttp
