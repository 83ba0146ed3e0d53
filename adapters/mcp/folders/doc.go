// Package folders says by their folders, with symbolic links resolved, which sessions a client may see. So
// nothing can be changed behind the check.
package folders
