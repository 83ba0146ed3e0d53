// Package ide defines the requests to an editor: for files and their unsaved texts, for
// terminals, and for the knowledge of its language servers.
//
// Core only passes an editor from the client that has it to the tools that need it. An adapter
// implements [Editor] in its protocol; code that has a core.Editor sends requests through
// [Of].
package ide
