// Package form is a survey as its authors write it: questions, triggers, texts, and
// what a right set of answers is. It is pure: no store, no clock, no channel. Package
// survey publishes definitions, sends their links and takes their answers.
package form
