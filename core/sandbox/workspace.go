package sandbox

import (
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"dragoman/core/child"
	"dragoman/core/files"
)

// Workspace describes where the programs of a session work. Paths need not be free of symbolic
// links.
type Workspace struct {
	Roots  []string                 // the session's folders
	Home   string                   // the user's home folder
	Env    func(name string) string // the user's environment
	Hidden []string                 // what is ours, and what the user's rules deny
	Tmp    string                   // our folder that is /tmp inside
	Caches string                   // our folder for the layers of caches
	Open   bool                     // the network is not confined
	Write  []string                 // what the configuration lets programs change in addition
	Own    []string                 // what the programs keep for themselves, keys too
	Keep   func(name string) bool   // whether programs get a variable in any case; nil: none
	Most   child.Level              // at which they are confined at most; "": child.Full
	// Denied reports whether the user's rules deny a file or folder; nil: they deny none. Rules
	// tells one set of rules from another.
	Denied func(path string) bool
	Rules  string
	// Serve serves a proxy, which is the only way out, on a listener inside. stop ends it and blocks
	// for that. nil: there is no way out.
	Serve func(net.Listener) (stop func())
}

// folders lists the session's folders as they are on the disk.
func (w Workspace) folders() (list []string) {
	for _, root := range w.Roots {
		if root = resolve(root); root != "/" && root != "" {
			list = append(list, root)
		}
	}
	return list
}

// profile returns the profile of a workspace, and the folders that it has searched for what rules deny,
// with when each had changed. It looks at the disk.
func (w Workspace) profile(level child.Level) (Profile, map[string]time.Time) {
	p := Profile{Tmp: w.Tmp, Open: w.Open, Proxy: w.proxied(level)}
	for _, root := range w.folders() {
		p.Write = append(p.Write, root)
		p.Write = append(p.Write, gitFolders(root)...)
	}
	var own []string
	for _, path := range w.Own {
		if path = resolve(path); path != "/" && path != "" {
			own = append(own, path)
		}
	}
	for _, path := range w.Write {
		if path = resolve(path); path != "/" && path != "" {
			p.Write = append(p.Write, path)
		}
	}
	p.Write = sorted(append(p.Write, own...))
	p.ReadOnly = sorted(append(w.guarded(p.Write), ownSettings(own)...))
	for _, path := range slices.Concat(files.KeyPlaces(w.Home), systemKeys, w.Hidden) {
		if path = resolve(path); path != "" && !slices.Contains(p.Write, path) && !covered(own, path) {
			p.Hidden = append(p.Hidden, path)
		}
	}
	var searched map[string]time.Time
	if level == child.Full { // elsewhere nothing can be excepted from what is writable
		var denied []string
		denied, searched = w.denied(p.Write)
		p.Hidden = append(p.Hidden, denied...)
	}
	p.Hidden = sorted(p.Hidden)
	p.Sockets = sorted(append(w.listening(), w.namedSockets()...))
	if home := resolve(w.Home); replaced(home) && home != "" {
		p.Show = []string{home}
	}
	if dir := w.Env("XDG_RUNTIME_DIR"); filepath.IsAbs(dir) {
		p.Empty = []string{filepath.Clean(dir)}
	}
	p.Env = w.variables(level)
	for _, name := range socketNames {
		if path := w.socket(name); path != "" && w.kept(name) {
			p.Show = append(p.Show, path)
			p.Sockets = slices.DeleteFunc(p.Sockets, func(s string) bool { return s == path })
		}
	}
	w.layers(&p, level)
	return p, searched
}

// systemKeys are the files with the machine's passwords. Root reads them.
var systemKeys = []string{"/etc/shadow", "/etc/gshadow", "/etc/shadow-", "/etc/gshadow-", "/etc/sudoers", "/etc/sudoers.d", "/etc/krb5.keytab", "/etc/ssl/private"}

// resolve returns a path without symbolic links, as far as it exists; "": it is not absolute.
func resolve(path string) string {
	if !filepath.IsAbs(path) {
		return ""
	}
	path = filepath.Clean(path)
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	dir, name := filepath.Split(path)
	if dir == path {
		return path
	}
	return filepath.Join(resolve(dir), name)
}

// replaced reports whether programs at level full do not see what is at a path.
func replaced(path string) bool {
	return slices.ContainsFunc([]string{"/tmp", "/var/tmp", "/run", "/dev", "/proc"}, func(dir string) bool { return within(dir, path) })
}

// seen reports whether programs see what is at a path.
func (w Workspace) seen(path string) bool {
	return !replaced(path) || slices.ContainsFunc(append([]string{w.Home}, w.Roots...), func(dir string) bool { return within(resolve(dir), path) })
}

// within reports whether a clean path is a folder or below it.
func within(dir, path string) bool {
	return path == dir || strings.HasPrefix(path, strings.TrimSuffix(dir, "/")+"/")
}

// covered reports whether a path is one of a list or below it.
func covered(list []string, path string) bool {
	return slices.ContainsFunc(list, func(dir string) bool { return within(dir, path) })
}

// ownSettings lists the control files that are directly in what programs keep for themselves: an agent
// that changes its hooks would run them without a sandbox the next time.
func ownSettings(own []string) (list []string) {
	for _, dir := range own {
		entries, err := os.ReadDir(dir)
		if err != nil {
			continue // a file, or nothing
		}
		for _, e := range entries {
			if path := filepath.Join(dir, e.Name()); files.ControlFile(strings.ToLower(path)) {
				list = append(list, path)
			}
		}
	}
	return list
}

func sorted(list []string) []string {
	slices.Sort(list)
	return slices.Compact(list)
}

// socketNames are the variables that lead to sockets of other programs.
var socketNames = []string{"SSH_AUTH_SOCK", "DBUS_SESSION_BUS_ADDRESS", "WAYLAND_DISPLAY", "DOCKER_HOST", "CONTAINER_HOST"}

// proxied reports whether programs have a proxy.
func (w Workspace) proxied(level child.Level) bool {
	return level == child.Full && !w.Open && w.Serve != nil
}

// kept reports whether programs get a variable because the user says so.
func (w Workspace) kept(name string) bool { return w.Keep != nil && w.Keep(name) }

// variables are the changes of the environment inside.
func (w Workspace) variables(level child.Level) (env []string) {
	remove := append(slices.Clone(socketNames), "DISPLAY", "WSL_INTEROP")
	if !w.Open { // what they lead to cannot be reached
		remove = append(remove, "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy")
	}
	for _, name := range remove {
		if !w.kept(name) {
			env = append(env, name)
		}
	}
	if w.proxied(level) {
		at := "http://" + ProxyAddress
		for _, name := range []string{"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"} {
			env = append(env, name+"="+at, strings.ToLower(name)+"="+at)
		}
		env = append(env, "NO_PROXY=localhost,127.0.0.1,::1", "no_proxy=localhost,127.0.0.1,::1")
	}
	if tmp := w.Tmp; tmp != "" {
		if level == child.Full {
			tmp = "/tmp"
		}
		for _, name := range []string{"TMPDIR", "TMP", "TEMP"} {
			env = append(env, name+"="+tmp)
		}
	}
	return env
}

// namedSockets lists the sockets that variables lead to, wherever they are.
func (w Workspace) namedSockets() (list []string) {
	for _, name := range socketNames {
		if path := w.socket(name); path != "" && w.seen(path) {
			list = append(list, path)
		}
	}
	return list
}

// socket returns the socket that a variable leads to; "": none.
func (w Workspace) socket(name string) string {
	path, _, _ := strings.Cut(w.Env(name), ",") // of D-Bus: unix:path=/…,guid=…
	path = strings.TrimPrefix(strings.TrimPrefix(strings.TrimPrefix(path, "unix:"), "path="), "//")
	if name == "WAYLAND_DISPLAY" && path != "" && !filepath.IsAbs(path) {
		path = filepath.Join(w.Env("XDG_RUNTIME_DIR"), path)
	}
	if path = resolve(path); path == "" || !isSocket(path) {
		return ""
	}
	return path
}

func isSocket(path string) bool {
	info, err := os.Lstat(path)
	return err == nil && info.Mode().Type() == os.ModeSocket
}

// listening lists the Unix sockets of this machine that somebody listens on, apart from those that
// programs do not see in any case. Without the system's list there are none.
func (w Workspace) listening() (list []string) {
	text, err := os.ReadFile("/proc/net/unix")
	if err != nil {
		return nil
	}
	for line := range strings.Lines(string(text)) {
		// Num RefCount Protocol Flags Type St Inode Path
		f := strings.Fields(line)
		_, path, found := strings.Cut(strings.TrimSuffix(line, "\n"), " /")
		if path = "/" + path; !found || len(f) < 8 || f[3] != listensFlag {
			continue
		}
		if w.seen(path) && isSocket(path) {
			list = append(list, resolve(path))
		}
	}
	return list
}

// listensFlag marks a socket in the system's list that somebody listens on (__SO_ACCEPTCON).
const listensFlag = "00010000"
