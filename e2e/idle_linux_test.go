package e2e

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"
)

// cpu is how much processor time a process has used: the system counts hundredths of a
// second.
func cpu(t testing.TB, pid int) time.Duration {
	t.Helper()
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		t.Skipf("the system does not tell: %v", err)
	}
	_, rest, _ := strings.Cut(string(stat), ") ") // the program's name stands in front
	fields := strings.Fields(rest)
	if len(fields) < 13 {
		t.Fatalf("not a stat: %q", stat)
	}
	var ticks int64
	for _, f := range fields[11:13] { // its own, and the system's for it
		n, err := strconv.ParseInt(f, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		ticks += n
	}
	return time.Duration(ticks) * 10 * time.Millisecond
}

// idle plays turns with an ECA client and says what the process then uses in five
// seconds of rest, and by how much its memory has grown since the first turn, in MiB.
func idle(t testing.TB, l launch) (used time.Duration, grown float64) {
	t.Helper()
	e := newPlace(t).edit(t, ecaDialect(), l)
	id := e.begin()
	turn := func() { e.run(id, "think about it then read notes.txt then stream 50 of 20") }
	turn()
	pid := e.cmd.Process.Pid
	before := rss(pid)
	for range 20 {
		turn()
	}
	<-time.After(2 * time.Second) // what is left to store is stored
	grown = rss(pid) - before
	began := cpu(t, pid)
	<-time.After(5 * time.Second)
	used = cpu(t, pid) - began
	e.leave()
	return used, grown
}

// After twenty turns the server rests, and has not grown much. The promise is 10 ms in
// five seconds and 8 MiB, and "make bench" measures an idle process; here the bounds are wide, for a
// busy machine and the race detector.
func TestIdle(t *testing.T) {
	t.Parallel()
	used, grown := idle(t, launch{})
	t.Logf("%v in 5 s, %.1f MiB more", used, grown)
	if used > 100*time.Millisecond {
		t.Errorf("an idle server used %v in 5 s", used)
	}
	if grown > 100 {
		t.Errorf("20 turns took %.1f MiB", grown)
	}
}
