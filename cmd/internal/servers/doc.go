// Package servers keeps the MCP servers of the user's configuration.
//
// # What holds
//
//   - mcp.json is changed in one place ([Store.Edit]), and nothing in it but the entry that is
//     meant. Nothing here writes YAML.
//   - A server of mcp.json that is wrong is shown as failed, with the line of the mistake, and
//     costs no other.
//   - What a configuration refers to is looked up when a server starts, so a key may change
//     between two starts, and an error names the place in the file.
//   - What was kept of a server that is removed is forgotten: what its tools said at first, its
//     log, and the login to it, which is taken back.
//   - Nobody who is not at the terminal agrees to what tools say.
package servers
