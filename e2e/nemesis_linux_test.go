package e2e

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// ordeal is a data folder, the history of its clients and what is done to them.
type ordeal struct {
	t       *testing.T
	p       *place
	h       *history
	watch   func(*testing.T, *place, *history) *witness
	rnd     *rand.Rand
	prompts int
	faults  int
}

// text is a prompt that is one of a kind: it thinks, reads, streams and runs.
func (o *ordeal) text() string {
	o.prompts++
	return fmt.Sprintf("think prompt %d then read notes.txt then stream %d of 30 then run echo %d then stream 3 of 30", o.prompts, 1+o.rnd.IntN(60), o.prompts)
}

// nemeses are the faults that a test inflicts on processes, by name. Each leaves sessions
// in which nothing runs any more, and a process that goes on with them.
var nemeses = map[string]func(o *ordeal, w *witness, sessions []string){
	"SIGKILL": func(o *ordeal, w *witness, sessions []string) {
		o.busy(w, sessions)
		bomb := time.AfterFunc(time.Duration(o.rnd.Int64N(int64(40*time.Millisecond))), w.kill)
		defer bomb.Stop()
		w.last()
	},
	// A process that has stopped owns its sessions; when it is killed another takes them over.
	"SIGSTOP": func(o *ordeal, w *witness, sessions []string) {
		for _, id := range sessions {
			o.busy(w, []string{id})
			w.begins(id)
		}
		o.signal(w, syscall.SIGSTOP)
		thief := o.watch(o.t, o.p, o.h)
		refused := map[string]string{}
		for _, id := range sessions {
			thief.load(id, true)
			refused[id] = o.text()
			thief.prompt(id, refused[id])
		}
		for _, id := range sessions {
			if end := thief.ended(id, refused[id]); !strings.Contains(end, inUse) {
				o.t.Errorf("what a stopped process has can be prompted: %q", end)
			}
		}
		if o.rnd.IntN(2) == 0 {
			o.signal(w, syscall.SIGCONT)
			o.quiet(w)
			w.over()
		} else {
			w.kill()
			w.last()
		}
		for _, id := range sessions {
			text := o.text()
			thief.load(id, false)
			thief.prompt(id, text)
			if end := thief.ended(id, text); strings.Contains(end, inUse) {
				o.t.Errorf("what a dead process had cannot be prompted: %q", end)
			}
		}
		thief.over()
	},
	"ENOSPC": func(o *ordeal, w *witness, sessions []string) {
		o.busy(w, sessions)
		o.limit(w, unix.RLIMIT_FSIZE, uint64(o.rnd.IntN(20_000))) // of each file
		o.quiet(w)
		o.limit(w, unix.RLIMIT_FSIZE, unix.RLIM_INFINITY)
		w.over()
	},
	"EMFILE": func(o *ordeal, w *witness, sessions []string) {
		open, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", w.cmd.Process.Pid))
		if err != nil {
			o.t.Fatal(err)
		}
		o.limit(w, unix.RLIMIT_NOFILE, uint64(len(open)+o.rnd.IntN(10)))
		o.busy(w, sessions)
		o.quiet(w)
		o.limit(w, unix.RLIMIT_NOFILE, 1024)
		w.over()
	},
}

// busy prompts all sessions at the same time.
func (o *ordeal) busy(w *witness, sessions []string) {
	for _, id := range sessions {
		text := o.text()
		w.prompt(id, text)
		w.begun[id] = text
	}
}

// quiet waits until all of that has ended, however.
func (o *ordeal) quiet(w *witness) {
	for id, text := range w.begun {
		w.ended(id, text)
	}
}

func (o *ordeal) signal(w *witness, s syscall.Signal) {
	if err := w.cmd.Process.Signal(s); err != nil {
		o.t.Fatal(err)
	}
}

// limit sets a resource limit of a process until it is set again.
func (o *ordeal) limit(w *witness, resource int, n uint64) {
	var old unix.Rlimit
	pid := w.cmd.Process.Pid
	if err := unix.Prlimit(pid, resource, nil, &old); err != nil {
		o.t.Fatal(err)
	}
	if err := unix.Prlimit(pid, resource, &unix.Rlimit{Cur: min(n, old.Max), Max: old.Max}, nil); err != nil {
		o.t.Fatal(err)
	}
}

// round has a process work, does something to it, and has the next process show all and
// go on.
func (o *ordeal) round(name string, sessions []string) {
	w := o.watch(o.t, o.p, o.h)
	for _, id := range sessions {
		w.load(id, false)
	}
	nemeses[name](o, w, sessions)
	o.faults++
	next := o.watch(o.t, o.p, o.h)
	for _, id := range sessions {
		next.load(id, false)
		text := o.text()
		next.prompt(id, text)
		if end := next.ended(id, text); !strings.HasPrefix(end, endOK) && !strings.HasPrefix(end, "completed") {
			o.t.Errorf("after %s a prompt ends as %q", name, end)
		}
		next.load(id, false)
	}
	next.over()
}

// Clients saw what is in the session afterwards, whatever happens to the process: in
// one order, each call's states only forward, no answer lost, nothing twice.
func TestHistories(t *testing.T) {
	t.Parallel()
	faces := slices.Sorted(maps.Keys(witnesses))
	for i, name := range slices.Sorted(maps.Keys(nemeses)) {
		face := faces[i%len(faces)] // make torture has all of them
		t.Run(face+" "+name, func(t *testing.T) {
			t.Parallel()
			endure(t, name, witnesses[face], 7, func(rounds int) bool { return rounds < 2 })
		})
	}
}

// TestTortureHistories does that with other chances and for long, each for its share.
func TestTortureHistories(t *testing.T) {
	d, err := time.ParseDuration(os.Getenv("DRAGOMAN_TORTURE"))
	if err != nil {
		t.Skip("make torture runs this")
	}
	share := d / time.Duration(len(witnesses)*len(nemeses))
	for face, watch := range witnesses {
		for name := range nemeses {
			t.Run(face+" "+name, func(t *testing.T) {
				end := time.Now().Add(share)
				for seed := uint64(1); time.Now().Before(end) && !t.Failed(); seed++ {
					endure(t, name, watch, seed, func(rounds int) bool { return rounds < 20 && time.Now().Before(end) })
				}
			})
		}
	}
}

// endure inflicts a nemesis on the processes of one data folder, for a number of
// rounds, and checks the history of their clients.
func endure(t *testing.T, name string, watch func(*testing.T, *place, *history) *witness, seed uint64, again func(rounds int) bool) {
	p := newPlace(t)
	p.config(t, "policy:\n  default: allow\n")
	o := &ordeal{t: t, p: p, h: &history{}, watch: watch, rnd: rand.New(rand.NewPCG(seed, seed))}
	maker := watch(t, p, o.h)
	var sessions []string
	for range 3 {
		id := maker.begin()
		text := o.text()
		maker.prompt(id, text)
		maker.ended(id, text)
		sessions = append(sessions, id)
	}
	maker.over()
	for n := 0; again(n) && !t.Failed(); n++ {
		o.round(name, sessions)
	}
	for _, f := range o.h.check() {
		t.Error(f)
	}
	t.Logf("seed %d: %d faults, %d prompts, %d acts", seed, o.faults, o.prompts, len(o.h.acts))
}
