// Package serve lets adapters and the terminal serve the gateway of a configuration.
//
// # Files
//
// gateway.go builds the gateway and closes it in order. eca.go, acp.go, mcp.go and http.go
// connect it to their protocols, chat.go and run.go to a person; begin.go finds the session for
// these two. aggregate.go offers our agent together with the MCP servers of the configuration,
// relays.go one of these servers alone. http.go serves clients over HTTP, as far as the rights of their
// tokens go. pprof.go serves profiles of the process (--pprof), and rest.go gives back memory that
// the process does not use.
//
// # What holds
//
//   - Standard output belongs to the protocol. Messages for people go to standard error.
//   - Nothing is opened before it is needed. Only the configuration is read at once, while the rest is
//     prepared, because the first answer waits for it.
//   - The end comes in order: adapters, sessions (five seconds), the log (a quarter of a second,
//     because it may not be read). A second signal ends the process at once.
//   - A process that the same configuration has started as one of its MCP servers offers none of
//     these servers: they would only start each other.
package serve
