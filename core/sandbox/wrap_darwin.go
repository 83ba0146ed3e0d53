package sandbox

import (
	"os"
	"os/exec"
	"slices"
	"sync"
)

// sandboxExec is macOS's program that runs another one with a profile.
const sandboxExec = "/usr/bin/sandbox-exec"

// wraps reports whether the system's sandbox works at all. It starts a process, once.
var wraps = sync.OnceValue(func() bool {
	return exec.Command(sandboxExec, "-p", Profile{}.seatbelt(), "/usr/bin/true").Run() == nil
})

// wrap returns a program that runs another one as the profile says.
func wrap(p Profile, cmd *exec.Cmd) *exec.Cmd {
	if cmd.Err != nil || !wraps() {
		return cmd
	}
	if _, err := os.Stat(cmd.Path); err != nil {
		return cmd // the start says what is wrong
	}
	in := *cmd
	in.Path, in.Args = sandboxExec, slices.Concat([]string{sandboxExec, "-p", p.seatbelt(), cmd.Path}, cmd.Args[min(1, len(cmd.Args)):])
	return &in
}
