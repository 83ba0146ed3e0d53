// Package folders determines the sessions that a client may see by their folders, with symbolic
// links resolved, so that nothing can change after the check.
package folders
