package sandbox

import (
	"strings"
	"testing"
	"time"
)

// A command that fills /tmp is ended, and so is all that runs beside it. The next command finds /tmp empty.
func TestTmpIsBounded(t *testing.T) {
	for _, level := range levels(t) {
		t.Run(string(level), func(t *testing.T) {
			p := newPlace(t, level)
			p.session.bound = bound{most: 4 << 20, period: time.Millisecond}
			beside, _ := p.start("echo x > $TMPDIR/other; sleep 3600")
			filler, out := p.start("while :; do head -c 1048576 /dev/zero >> $TMPDIR/big || exit; done")
			beside.Await()
			filler.Await()
			beside.Close()
			if how := filler.Close(); how.Signal == "" {
				t.Errorf("it ended by itself: %+v %s", how, out)
			}
			notes := p.session.Notes()
			if len(notes) == 0 || !strings.Contains(notes[0], "held more than 4 MiB") {
				t.Errorf("notes: %q", notes)
			}
			p.session.watching.Wait()
			p.session.bound.period = time.Hour
			if list, code := p.run("cd $TMPDIR && ls -d big other 2>/dev/null; echo 1 > new"); list != "" || code != 0 {
				t.Errorf("the next command: exit %d, %s", code, list)
			}
		})
	}
}

// A sparse file counts as what it takes, and a command that stays below the limit goes on.
func TestSparseFilesAreSmall(t *testing.T) {
	levels(t)
	p := newPlace(t, "full")
	p.session.bound = bound{most: 4 << 20, period: time.Millisecond}
	if out, code := p.run("truncate -s 1T /tmp/sparse && sleep 0.3 && stat -c %s /tmp/sparse"); code != 0 || out != "1099511627776" {
		t.Errorf("exit %d: %s", code, out)
	}
	if notes := p.session.Notes(); len(notes) > 0 {
		t.Errorf("notes: %q", notes)
	}
}
