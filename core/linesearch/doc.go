// Package linesearch finds the lines of a text that match a regular expression.
//
// # What holds
//
//   - A line matches if the expression matches the line alone, without its end. Every
//     shortcut below finds exactly these lines.
//   - Any goroutine may use a Matcher.
//
// # Why
//
// Go's expressions run in linear time, but slowly: some 30 ns a byte over a long text and a
// third of it over a short one. So a Matcher looks for text that every match contains, by
// its rarest byte, and runs the expression over the lines with such text only. Without such
// text, it runs over a few kilobytes of whole lines at once.
package linesearch
