//go:build unix

package wire_test

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"dragoman/adapters/wire"
)

// role says what this test binary does when it is started by one of its own tests.
const role = "DRAGOMAN_WIRE_TEST_ROLE"

func TestMain(m *testing.M) {
	switch os.Getenv(role) {
	case "":
		os.Exit(m.Run())
	case "close":
		os.Exit(closeWhileReading())
	case "write":
		os.Exit(writeToNobody())
	}
}

func child(t *testing.T, as string) *exec.Cmd {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), exe)
	cmd.Env = append(os.Environ(), role+"="+as)
	return cmd
}

// closeWhileReading reads standard input, of which nothing comes, and closes it.
func closeWhileReading() int {
	in, out, err := wire.Stdio()
	if err != nil {
		return 1
	}
	if _, err := io.ReadFull(in, make([]byte, 1)); err != nil { // the one byte that there is
		return 2
	}
	read := make(chan error, 1)
	go func() {
		fmt.Fprintln(out, "reading")
		_, err := in.Read(make([]byte, 1))
		read <- err
	}()
	<-time.After(100 * time.Millisecond) // so that the Read has begun; if not, the test is only weaker
	in.Close()
	select {
	case err := <-read:
		if err == nil || errors.Is(err, io.EOF) {
			return 3
		}
	case <-time.After(30 * time.Second):
		return 5
	}
	// The descriptor is still there, so that no other file takes its number.
	if _, err := os.Stdin.Stat(); err != nil {
		return 4
	}
	return 0
}

func TestCloseEndsAReadOfStdin(t *testing.T) {
	var ends [2]int // of a blocking pipe, as a shell makes them
	syscall.ForkLock.RLock()
	err := syscall.Pipe(ends[:])
	syscall.CloseOnExec(ends[0])
	syscall.CloseOnExec(ends[1])
	syscall.ForkLock.RUnlock()
	if err != nil {
		t.Fatal(err)
	}
	theirs, ours := os.NewFile(uintptr(ends[0]), "in"), os.NewFile(uintptr(ends[1]), "out")
	defer theirs.Close()
	defer ours.Close()
	cmd := child(t, "close")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = theirs, new(strings.Builder), os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	io.WriteString(ours, "x") // and it stays open
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
}

// writeToNobody writes to standard output and standard error when nobody reads them any more.
func writeToNobody() int {
	wire.SurviveSIGPIPE()
	_, out, err := wire.Stdio()
	if err != nil {
		return 1
	}
	io.ReadAll(os.Stdin) // until the test has closed the other ends
	for _, w := range []io.Writer{out, os.Stdout, os.Stderr} {
		if _, err := io.WriteString(w, "x"); !errors.Is(err, syscall.EPIPE) || !wire.PeerLeft(err) {
			return 2
		}
	}
	// What is caught is not inherited, what is ignored would be.
	if err := exec.Command("sh", "-c", "kill -PIPE $$; exit 0").Run(); err == nil {
		return 3
	}
	return 0
}

func TestBrokenStdoutIsNotDeadly(t *testing.T) {
	cmd := child(t, "write")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	r, w := osPipe(t)
	cmd.Stdout, cmd.Stderr = w, w
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	r.Close()
	w.Close()
	in.Close()
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
}
