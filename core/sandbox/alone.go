package sandbox

import (
	"fmt"
	"path/filepath"
	"sync"

	"dragoman/core/child"
)

// Alone returns a guard whose programs run in a sandbox of their own and not in that of a session's
// commands. It is for programs that run for long beside a session, such as servers: since the user
// works in the same folders meanwhile, what they change is not compared afterwards; control files that
// exist are protected as for commands. name is not that of another guard which is in use. release ends
// all that runs in the sandbox, and blocks for that. Where programs cannot be confined there is only an
// error.
func (ss *Sessions) Alone(name string, w Workspace) (g *child.Guard, release func(), err error) {
	level, why := ss.system.Level(w.Most)
	if level == child.None {
		return nil, nil, fmt.Errorf("it is to run in a sandbox, and programs cannot be confined here (%s); `sandbox: off` starts it without one", why)
	}
	if w.Serve != nil && level != child.Full && !w.Open {
		return nil, nil, fmt.Errorf("it is to run in a sandbox whose network is confined, which only level full can do (here it is %s: %s); use `sandbox: network` or `off`", level, why)
	}
	var tmp *tmpFolder
	if ss.folder != "" {
		w.Tmp = filepath.Join(ss.folder, "tmp", nameOf(name))
		ss.sweep()
		if tmp, err = newTmpFolder(w.Tmp); err != nil {
			return nil, nil, err
		}
		if len(w.Roots) > 0 {
			w.Caches = filepath.Join(ss.folder, "caches", nameOf(w.Roots[0]))
		}
	}
	p, _ := w.profile(level)
	c := confinement{box: ss.system.box(level, p, w.Serve)}
	c.guard = child.Confined(c.box)
	return c.guard, sync.OnceFunc(func() {
		c.close()
		if tmp != nil {
			tmp.remove()
		}
	}), nil
}
