// Package e2e drives the built binary over real pipes, as its users' programs do:
// with official client libraries from npm (folder clients), with raw bytes, and
// with a model served over HTTP by a mock server. It imports nothing of the
// project.
//
// The binary runs in a clean environment with folders of its own: whatever keys or
// endpoints the surrounding environment holds are not seen. Without Node the tests
// with npm's clients are skipped and say so; with CI=true that is a failure.
package e2e
