package sandbox

import (
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"

	"golang.org/x/sys/unix"
)

// probe is what this test program does inside a sandbox: what its arguments say.
func probe(args []string) error {
	switch args[0] {
	case "connect":
		c, err := net.Dial(args[1], args[2])
		if err == nil {
			c.Close()
		}
		return err
	case "send":
		c, err := net.Dial("udp", args[1])
		if err != nil {
			return err
		}
		defer c.Close()
		_, err = c.Write([]byte("x"))
		return err
	case "socket":
		var n [3]int
		for i := range n {
			n[i], _ = strconv.Atoi(args[1+i])
		}
		_, err := unix.Socket(n[0], n[1], n[2])
		return err
	case "pair":
		_, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM, 0)
		return err
	case "serve":
		return http.ListenAndServe(args[1], http.FileServer(http.Dir("/tmp")))
	case "swap":
		for _, err := os.Lstat("stop"); err != nil; _, err = os.Lstat("stop") {
			for _, name := range args[1:] { // what is missing is there for a moment
				if unix.Renameat2(unix.AT_FDCWD, name, unix.AT_FDCWD, name+".out", unix.RENAME_EXCHANGE) != nil &&
					os.Rename(name+".out", name) != nil {
					_ = os.Rename(name, name+".out")
				}
			}
		}
	case "call":
		n, _ := strconv.Atoi(args[1])
		_, _, errno := unix.Syscall6(uintptr(n), 0, 0, 0, 0, 0, 0)
		return fmt.Errorf("%s", unix.ErrnoName(errno))
	default:
		return fmt.Errorf("unknown probe %s", args[0])
	}
	return nil
}

const probeVar = "SANDBOX_TEST_PROBE"

// probeMain runs a probe if this process is one.
func probeMain() {
	if os.Getenv(probeVar) == "" {
		return
	}
	if err := probe(os.Args[1:]); err != nil {
		fmt.Println("failed:", err)
		os.Exit(1)
	}
	os.Exit(0)
}

// probing puts this test program into the workspace, and returns the start of a line that runs it.
func (p *place) probing() string {
	p.t.Helper()
	to := filepath.Join(p.root, "probe")
	if err := exec.Command("cp", os.Args[0], to).Run(); err != nil {
		p.t.Fatal(err)
	}
	return probeVar + "=1 " + to + " "
}
