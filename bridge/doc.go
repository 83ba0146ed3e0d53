// Package bridge is the upstream side of the gateway: what stands behind the core
// instead of in front of it. MCP servers become toolboxes, agents that speak ACP or
// ECA become back ends, and every child process has one owner.
//
// Nothing is bridged yet: tools are the gateway's own and turns are run by its own
// loop (core/loop). The package has its place because the import rule names it: an
// adapter never imports it, nor it an adapter; cmd joins them.
package bridge
