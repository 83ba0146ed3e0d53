// Package coretest has the shared parts of the tests of core and of the packages
// around it: samples of every event and block, a store in memory, and the suites that
// every implementation of an interface of core passes.
package coretest
