package sandbox

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/landlock-lsm/go-landlock/landlock"
	ll "github.com/landlock-lsm/go-landlock/landlock/syscall"
)

// The rights that a sandbox of level files takes away; what follows gives some of them back. A
// folder can be listed wherever it is, because the right to list one would hold for all below it.
const (
	readRights  landlock.AccessFSSet = ll.AccessFSReadFile
	writeRights landlock.AccessFSSet = ll.AccessFSWriteFile | ll.AccessFSTruncate | ll.AccessFSRemoveDir | ll.AccessFSRemoveFile |
		ll.AccessFSMakeChar | ll.AccessFSMakeDir | ll.AccessFSMakeReg | ll.AccessFSMakeSock | ll.AccessFSMakeFifo |
		ll.AccessFSMakeBlock | ll.AccessFSMakeSym | ll.AccessFSRefer
	socketRights landlock.AccessFSSet = ll.AccessFSResolveUnix
)

// The versions of Landlock that know of TCP, and that can move files between folders.
const (
	abiRefer = 2
	abiTCP   = 4
)

// restrictFiles confines this thread, and what it starts, by Landlock.
func restrictFiles(p Profile) error {
	abi, err := ll.LandlockGetABIVersion()
	if err != nil || abi < abiRefer {
		return fmt.Errorf("landlock: the system has version %d, and %d is needed", max(abi, 0), abiRefer)
	}
	rules := []landlock.Rule{landlock.PathAccess(readRights, readable(p.Hidden)...).IgnoreIfMissing()}
	for _, path := range append(slices.Clone(p.Write), p.Tmp) {
		info, err := os.Stat(path)
		switch {
		case err != nil:
		case info.IsDir():
			rules = append(rules, landlock.PathAccess(readRights|writeRights, path).IgnoreIfMissing())
		default:
			rules = append(rules, landlock.PathAccess(readRights|ll.AccessFSWriteFile|ll.AccessFSTruncate, path).IgnoreIfMissing())
		}
	}
	for _, l := range p.Layers {
		rules = append(rules, landlock.PathAccess(readRights|writeRights, l.Store).IgnoreIfMissing())
	}
	devices := []string{"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty"}
	rules = append(rules, landlock.PathAccess(readRights|ll.AccessFSWriteFile, devices...).IgnoreIfMissing())
	sets := []any{readRights | writeRights | socketRights, landlock.ScopedSet(ll.ScopeAbstractUnixSocket | ll.ScopeSignal)}
	if !p.Open {
		sets = append(sets, landlock.AccessNetSet(ll.AccessNetBindTCP|ll.AccessNetConnectTCP))
	}
	cfg, err := landlock.NewConfig(sets...)
	if err != nil {
		return fmt.Errorf("landlock: %w", err)
	}
	if err := dropRights(); err != nil {
		return err
	}
	if err := cfg.BestEffort().Restrict(rules...); err != nil {
		return fmt.Errorf("landlock: %w", err)
	}
	// A Unix socket would lead to programs outside: nothing hides theirs at this level.
	return filterCalls(reach{streams: p.Open || abi >= abiTCP, packets: p.Open})
}

// readable lists what covers all files but the hidden ones. A symbolic link is left out: a rule
// would be about the file that it leads to.
func readable(hidden []string) []string {
	above := map[string]bool{}
	for _, path := range hidden {
		for dir := filepath.Dir(path); !above[dir]; dir = filepath.Dir(dir) {
			above[dir] = true
		}
	}
	if !above["/"] {
		return []string{"/"}
	}
	var list []string
	var visit func(dir string)
	visit = func(dir string) {
		entries, err := os.ReadDir(dir)
		if err != nil {
			return
		}
		for _, e := range entries {
			path := filepath.Join(dir, e.Name())
			switch {
			case slices.Contains(hidden, path) || e.Type() == os.ModeSymlink:
			case above[path]:
				visit(path)
			case e.IsDir() || e.Type().IsRegular() || strings.HasPrefix(path, "/dev/"):
				list = append(list, path)
			}
		}
	}
	visit("/")
	return list
}
