//go:build !unix

package guide

// nonblock is for systems that have pipes among their files.
const nonblock = 0
