// Package mcp transcribes the Model Context Protocol, versions 2024-11-05 to 2026-07-28, and the
// early dialect that has a number for a version: names, codes and those structures that a server
// and a client both need. It has no behaviour except reading them.
//
// The gateway is a server (adapters/mcp, with the official library) and a client (bridge, without
// it: the library's client reorders the messages of servers). Both take the names from here, and
// a test of adapters/mcp compares them with the library's.
package mcp
