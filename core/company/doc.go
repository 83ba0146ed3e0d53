// Package company names the clients of a session to one another: who else is attached, and who else has
// prompted.
package company
