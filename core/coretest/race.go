//go:build race

package coretest

// Race reports whether the race detector is on, which allocates memory of its own.
const Race = true
