// Package bridge is the folder of the packages that speak to others' programs: MCP servers, and agents
// behind the gateway.
//
// It holds no code, only the tests that put gateways behind gateways, and compare what is told at the
// top with what happened at the bottom.
package bridge
