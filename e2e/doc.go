// Package e2e drives the built binary over real pipes, as its users' programs do:
// with official client libraries from npm (folder clients), with raw bytes, and
// with a model served over HTTP by a mock server. It imports nothing of the
// project.
//
// A peer is the binary as a child process behind raw pipes; nothing reads them but
// whoever calls it, so that a client which does not read is one that is not called.
// An editor is a peer that speaks ACP or ECA, a caller one that speaks MCP; a view
// is what an editor has been told of a session, and what is compared across a kill.
// With DRAGOMAN_E2E_BINARY another binary is tested than the one that is built here.
//
// Hosts are other people's programs in front of the binary (folder hosts): programs
// that give their model the tools of MCP servers, with a model of ours behind them. They
// are installed in the user's cache, and reach nothing outside of this machine. Only
// those that are installed quickly run every time, all of them with DRAGOMAN_HOSTS=all.
//
// Agents are other people's programs behind the binary, which speak ACP (folder agents, and some of the
// hosts): their own models are a mock server's. Those that start quickly run every time, all of them with
// DRAGOMAN_AGENTS=all.
//
// Tests that combine clients, ways and states try each of them in one combination or two; all combinations
// with DRAGOMAN_E2E_ALL=1.
//
// The binary runs in a clean environment with folders of its own: whatever keys or
// endpoints the surrounding environment holds are not seen. Without Node the tests
// with npm's clients are skipped and say so; with CI=true that is a failure.
package e2e
