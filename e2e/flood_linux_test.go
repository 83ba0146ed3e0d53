package e2e

import (
	"errors"
	"fmt"
	"os"
	"testing"
	"time"
)

// An ACP client that sends requests and reads no answer costs less than 64 MiB, then
// and when it reads after all. The server stops reading after some 3,000 of them, with
// 1,000 answers unwritten: of 400,000 the rest stays with the client, as of these.
func TestACPFloodUnread(t *testing.T) {
	dragoman := quickly(t)
	for _, method := range []string{"session/new", "session/list"} {
		t.Run(method, func(t *testing.T) {
			p := newPlace(t)
			c := p.acpClientOf(t, dragoman, object{}, true)
			pid := c.cmd.Process.Pid
			const requests = 20_000
			var flood []byte
			for i := range requests {
				flood = append(flood, c.frames(object{"jsonrpc": "2.0", "id": fmt.Sprint("f", i), "method": method, "params": c.folder()})...)
			}
			// It is through with what it reads when it has taken nothing for a while.
			for len(flood) > 0 {
				if err := c.in.SetWriteDeadline(time.Now().Add(2 * time.Second)); err != nil {
					t.Fatal(err)
				}
				n, err := c.in.Write(flood[:min(len(flood), 64<<10)])
				flood = flood[n:]
				if errors.Is(err, os.ErrDeadlineExceeded) && n == 0 {
					break
				}
				if err != nil && !errors.Is(err, os.ErrDeadlineExceeded) {
					t.Fatal(err)
				}
			}
			if len(flood) == 0 {
				t.Fatal("all was read although nobody reads the answers")
			}
			blocked := memoryOf(pid, "VmHWM:")
			for answers := 0; answers < 1500; { // of requests that it has read
				m, err := c.next()
				if err != nil {
					t.Fatal(err)
				}
				if m.Method == "" {
					answers++
				}
			}
			read := memoryOf(pid, "VmHWM:")
			t.Logf("%.1f MiB unread, %.1f MiB read", blocked, read)
			if blocked == 0 || blocked > 64 || read > 64 {
				t.Errorf("it took %.1f MiB while nothing was read, and %.1f MiB when it was", blocked, read)
			}
		})
	}
}
