// Package doctor looks at a machine for what keeps dragoman from working.
//
// # What holds
//
//   - Nothing is changed: what is made in order to try something is removed.
//   - Nobody is asked over the network, and no key is shown.
//   - What only deserves a look does not count as wrong.
package doctor
