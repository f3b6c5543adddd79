// Package survey will send survey links when events ask for them, remind those
// who have not answered, and pass responses on (Triggers & Scheduler). It is not
// built yet: what it stands on is (packages storage and notify), and
// docs/spec-map.md says what is specified.
package survey
