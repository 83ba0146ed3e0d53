//go:build !windows

package shell

import "os/exec"

// asLine does nothing: here programs get their arguments one by one.
func asLine(*exec.Cmd) {}
