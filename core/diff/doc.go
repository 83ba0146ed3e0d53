// Package diff describes changes of files for people: a patch, its size, and what cannot be seen in
// it.
//
// A patch has the headers of git. Its paths are shown, so that nothing in a name is hidden, and a
// new text with characters that no editor shows is reported beside it (Shown). The diff of two
// texts takes time in proportion to their size times the number of changes; many changes of a
// large text are described as one.
package diff
