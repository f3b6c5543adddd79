// Package automationhttp serves the runs of report subscriptions to support, over HTTP
// (Report Subscription, "Lifecycle & support"), for a host that mounts [ReportRuns]
// behind its own router. Every request is authorised by the host. The host, never the
// request, decides whose runs a caller sees and whether the caller may start one.
//
// [OpenAPI] describes every route, for clients and their generators.
package automationhttp
