package sandbox

import (
	"encoding/json"
	"slices"

	"dragoman/core/child"
)

// The proxy listens on ProxyAddress inside a sandbox. The port is always free, because the sandbox has a
// new network namespace.
const (
	proxyPort    = 3128
	ProxyAddress = "127.0.0.1:3128"
)

// Profile says what programs in a sandbox may touch. Paths are absolute, clean and free of symbolic
// links. What is not named can be read and not changed.
type Profile struct {
	Write    []string // folders and files that can be changed; what does not exist is passed over, here and below
	ReadOnly []string // those among them that cannot (level full)
	Hidden   []string // what cannot be read either
	Sockets  []string // Unix sockets that nothing can connect to (level full)
	Show     []string // what can be read below /tmp and /run, whose own content programs do not see (level full)
	Empty    []string // folders that are replaced by empty ones, in which programs may write (level full)
	Tmp      string   // the folder that programs see as /tmp and /var/tmp; "": they see those of the system
	Layers   []Layer  // caches
	Open     bool     // the network is not confined
	Proxy    bool     // a proxy is at proxyAddress, and we have its listener (level full, without Open)
	Env      []string // variables that programs get, NAME=value; NAME alone takes one away
}

// Layer is a folder that programs change in a copy of their own. At level files there are no
// copies: variables in Env lead to the Store.
type Layer struct {
	At    string // where they see it
	Lower string // what is there before they change anything; "": nothing
	Store string // our folder for what they change, with the folders upper and work
}

// equal reports whether two profiles confine programs in the same way.
func (p Profile) equal(q Profile) bool {
	for _, list := range [][2][]string{
		{p.Write, q.Write}, {p.ReadOnly, q.ReadOnly}, {p.Hidden, q.Hidden}, {p.Sockets, q.Sockets}, {p.Show, q.Show}, {p.Empty, q.Empty}, {p.Env, q.Env},
	} {
		if !slices.Equal(list[0], list[1]) {
			return false
		}
	}
	return slices.Equal(p.Layers, q.Layers) && p.Tmp == q.Tmp && p.Open == q.Open && p.Proxy == q.Proxy
}

// order is what the launcher is told: a profile, the level, and what to become.
type order struct {
	Level   child.Level
	Profile Profile
	Name    string // of the guard that the launcher becomes
	// Bubblewrap makes the namespaces (level full); nil: the launcher makes them.
	Bubblewrap *bubblewrap
}

func (o order) encode() ([]byte, error) { return json.Marshal(o) }
