// Package browsertest uses the pages of packages surveyhttp and notifyhttp in a real
// Chromium, as customers do: on a phone, a tablet and a desk, from left to right and from right
// to left, with and without JavaScript, by keyboard alone. It holds only tests, which
// make test-browser runs.
//
// BELFRY_SCREENSHOTS names a directory that the pages' pictures are written to.
// testdata/axe is axe-core, unchanged, under the Mozilla Public License 2.0; it is
// no part of the library.
package browsertest
