// Package imports reads the entries about MCP servers, or about us, in the settings of other
// programs.
//
// Import copies the servers of such settings into the configuration; EditorFiles are the settings
// that may make an editor start us, which the doctor checks.
//
// # What holds
//
//   - Reading settings runs nothing, reads no other file and asks no questions.
//   - Each program's form is a dialect: where the servers are, which variables texts have, and the
//     unit of its timeouts. All end up in one form, which is translated. What is dropped or changed
//     is noted; lists of tools that are offered or not are kept, and an empty list offers none.
//   - A variable of another program in a text (${env:NAME}, ${workspaceFolder}) is translated, or
//     the server is refused with the reason. Everything else is escaped, so that no text becomes
//     a reference on its way.
//   - References that read files or run programs are imported only from ECA's own settings, and
//     after a person has seen them.
//   - One server that cannot be imported does not affect the others.
package imports
