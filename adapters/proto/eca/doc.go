// Package eca is the Editor Code Assistant protocol as Go types: names, params, results,
// contents. It has no behaviour except the codec of the unions.
//
// Three documents of the protocol are in use, and this package has the names of all three:
// today's, and two early ones, which are called 001 (the first) and 000 (the second). A comment
// marks a field that is not in all of them. Fields that exist only because a client reads them
// are marked "undocumented".
//
// # Why
//
// A structure that two documents spell differently is one struct with both spellings: all known
// clients ignore unknown members, and some of them still read the older spelling.
package eca
