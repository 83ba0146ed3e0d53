// Package ide holds what an editor can be asked: for files and its unsaved texts of them, for
// terminals, and for what its language servers know.
//
// Core passes an editor on, from the client that has it to the tools that need it, and asks it
// nothing. An adapter implements [Editor] in its protocol; whoever is given a core.Editor asks
// it through [Of].
package ide
