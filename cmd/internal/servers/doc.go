// Package servers manages the MCP servers of the user's configuration.
//
// # What holds
//
//   - mcp.json is changed in one place ([Store.Edit]), and only the named entry in it. Nothing
//     here writes YAML.
//   - An invalid server of mcp.json is shown as failed, with the line of the mistake, and affects
//     no other.
//   - The references of a configuration are looked up when a server starts, so a key may change
//     between two starts, and an error names the place in the file.
//   - The data about a removed server is removed: its pins, its log, and the login to it, which
//     is revoked.
//   - Only a person at the terminal can agree to the descriptions of tools.
package servers
