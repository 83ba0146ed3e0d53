package shell

import (
	"os/exec"
	"strings"
	"syscall"
)

// asLine passes the command to cmd.exe unquoted: cmd takes the rest of the line as
// the command, and Go's quoting is for other programs.
func asLine(cmd *exec.Cmd) {
	if argv := cmd.Args; len(argv) > 2 && argv[len(argv)-2] == "/c" {
		cmd.SysProcAttr = &syscall.SysProcAttr{
			CmdLine: `"` + argv[0] + `" ` + strings.Join(argv[1:len(argv)-1], " ") + ` "` + argv[len(argv)-1] + `"`,
		}
	}
}
