// Package glob has two languages of patterns that people and models write.
//
// A [Text] pattern is for names: tools, servers, commands. In it * matches any text,
// and nothing else is special; ?, [, { and a backslash, which mean something in other
// languages, are errors rather than plain characters.
//
// A [Pattern] is for paths. * and ? match within a name, ** matches any number of
// folders, [a-z] and [!a] match one character, {a,b} matches either, and a backslash
// escapes the next character. [Word] parses a word of the shell, which also matches
// paths, and [Meet] compares two patterns.
//
// # What holds
//
//   - A pattern for paths has at most [MaxPath] bytes and [MaxGroups] groups of braces.
//   - A pattern has about as many states as characters, however its braces are nested.
//     No alternative is tried after another.
//   - Matching a text takes at most its number of characters times the pattern's number
//     of states and ways; comparing two patterns, at most the product of their sizes.
//   - An invalid pattern is an error when it is parsed, and never a pattern without
//     matches: a rule that should forbid something would forbid nothing then.
//
// # Why
//
// Patterns come from models (a tool's argument, a word of a command line) and from
// workspaces. A matcher that tries one alternative of braces after the other needs 2^n
// steps for n of them: 66 of {,} in one word blocked a session and a core for ever. An
// automaton avoids that, and unlike a regular expression it can be compared with
// another one: so a rule about a path is applied to the wildcards of a command line.
package glob
