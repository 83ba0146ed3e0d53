// Package coretest is what tests of the core and of everything around it share:
// samples of every event and block, a store in memory, and the suites that
// every implementation of an interface of core passes.
package coretest
