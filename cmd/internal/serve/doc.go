// Package serve lets adapters and the terminal serve the gateway of a configuration.
//
// # What is where
//
// gateway.go puts the gateway together and takes it apart again. eca.go, acp.go, mcp.go and
// http.go join it to their protocols, chat.go to a person. aggregate.go hands the MCP servers of
// the configuration on beside our agent, relays.go one of them alone.
//
// # What holds
//
//   - Standard output belongs to the protocol. What a person must know stands on standard error.
//   - Nothing is read or opened before it is needed, so that the first answer costs nothing.
//   - The end comes in order: adapters, sessions (five seconds), the log (a quarter of a second,
//     since nobody may be reading it). A second signal ends the process at once.
//   - Servers are not handed on to a process that the same configuration has started as one of
//     them: they would only start each other.
package serve
