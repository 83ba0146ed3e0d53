// Package eca is the Editor Code Assistant protocol as Go types: names, params,
// results, contents. It has no behaviour but the codec of the unions.
//
// Three documents of the protocol are alive, and this package holds what any of
// them says: today's, and two early ones, which are called 001 (the first) and
// 000 (the second). A field that not all of them know says so. Fields that stand
// there only because a client reads them are marked "undocumented".
//
// # Why
//
// A structure that two documents spell in two ways is one struct with both
// spellings, for all known clients ignore what they do not know, while some of
// them read the older spelling to this day.
package eca
