// Package workspace holds what prompts can refer to, files and the resources of MCP servers, and
// goes back to an earlier state of the files.
//
// Profiles carry it (core.Profile.Workspace), and core passes it on without looking at it. Changes
// of files are reverted from a session's log: the diff of a call has the old text and the text that
// the file must still have. So there are no copies to keep, to clean up or to lose, and later
// changes are not touched.
package workspace
