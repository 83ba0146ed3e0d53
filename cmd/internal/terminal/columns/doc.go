// Package columns lays text out in the columns of a terminal.
//
// # What holds
//
//   - A cluster (a letter with its accents, an emoji of several characters, a flag) is never cut,
//     and takes the columns of one picture.
//   - Lines are broken at blanks and between wide characters. Only a word that is wider than a
//     line is broken inside.
//   - Sequences that only change colours have no width.
//
// # Why
//
// The width of characters is not in the standard library, and the libraries for it bring tables
// for every boundary of Unicode. The chat needs one table: which characters are two columns wide
// (East Asian Width W and F).
package columns
