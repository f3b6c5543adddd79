// Package surveyhttp serves package survey over HTTP, for a host that mounts its
// handlers behind its own router: [API] for the programs that tell of events and
// turn the clock, [Forms] for the customers who follow a link (Triggers &
// Scheduler, "Trigger Ingest Endpoint" and "Public Submit Endpoint").
//
// API serves only callers that the host has authorised. The forms ask for nothing but
// the link's token, which stands in the path: they set and read no cookie, so that
// a page of another site can do nothing with them that it could not do with the
// token alone, and there is nothing that a CSRF token would protect. The path is
// therefore as secret as what can be done with it. The handlers log no path; a host
// that writes access logs leaves out or shortens those under /s/ and
// /SurveyInstances/.
package surveyhttp
