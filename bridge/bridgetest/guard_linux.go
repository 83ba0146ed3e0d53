package bridgetest

import (
	"os"
	"os/exec"
	"testing"

	"dragoman/core/child/childtest"
)

// OneGuard checks that a client, or a session, has one guard for all of its servers, which ends
// with the last of them, together with all processes that they left behind. use has the n servers
// started, each of which leaves a daemon behind as it starts, calls look, and ends them again, or
// leaves that to the end of its test.
func OneGuard(t *testing.T, n int, use func(t *testing.T, servers []Place, look func())) {
	t.Helper()
	if _, err := exec.LookPath("setsid"); err != nil {
		t.Skip(err)
	}
	odd := childtest.OddSleep()
	t.Cleanup(func() { childtest.Wake(t, odd) })
	var servers []Place
	for range n {
		p := Program("sdk")
		line := "setsid -f sleep " + odd + ` </dev/null >/dev/null 2>&1; exec "$0" "$@"`
		p.Command, p.Args = "sh", append([]string{"-c", line, p.Command}, p.Args...)
		servers = append(servers, p)
	}
	t.Run("use", func(t *testing.T) {
		use(t, servers, func() {
			childtest.Soon(t, "all daemons run", func() bool { return len(childtest.Asleep(t, odd)) == n })
			if list := childtest.Guards(t, os.Getpid()); len(list) != 1 {
				t.Errorf("guards %v", list)
			}
		})
	})
	childtest.Soon(t, "nothing is left", func() bool {
		return len(childtest.Asleep(t, odd)) == 0 && len(childtest.Guards(t, os.Getpid())) == 0
	})
}
