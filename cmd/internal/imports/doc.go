// Package imports reads what other programs' settings say of MCP servers, or of us.
//
// Import takes the servers of such settings over into the configuration; EditorFiles are those in
// which an editor may be told to start us, which the doctor looks at.
//
// # What holds
//
//   - Reading settings runs nothing, reads no other file and asks nobody.
//   - What another program replaces in a text (${env:NAME}, ${workspaceFolder}) is translated, or
//     the server is refused with the reason. Everything else is escaped, so that no text becomes a
//     reference on its way.
//   - What reads files or runs programs is kept from ECA's own settings only, and after a person has
//     seen it.
//   - One server that cannot be had does not keep the others from being taken over.
package imports
