// Package ide has the requests to editors: for files and their unsaved texts, for
// terminals, and for the knowledge of their language servers.
//
// Core passes an editor from its client to the tools that need it, without using it.
// An adapter implements [Editor] in its protocol; a tool with a core.Editor makes
// requests through [Of].
package ide
