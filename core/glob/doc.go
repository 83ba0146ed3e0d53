// Package glob matches paths against patterns with wildcards and braces, and patterns
// against each other. No pattern makes that expensive.
//
// # What holds
//
//   - A pattern has about as many states as characters, however its braces are nested.
//     No alternative is tried after another.
//   - Matching a text takes at most its number of characters times the pattern's number
//     of states and ways; comparing two patterns, at most the product of their sizes.
//
// # Why
//
// Patterns come from models (a tool's argument, a word of a command line) and from
// workspaces. A matcher that tries one alternative of braces after the other needs 2^n
// steps for n of them: 66 of {,} in one word held a session and a core for ever.
// Patterns are read as doublestar documents them, and a fuzz test compares the two.
package glob

import "github.com/bmatcuk/doublestar/v4"

// Valid reports whether a text is a pattern for paths.
func Valid(pattern string) bool { return doublestar.ValidatePattern(pattern) }
