package sandbox

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"

	"dragoman/core/child"
)

// cache is a folder in which a tool keeps what it can get or make again.
type cache struct {
	name     string // of its folder among our own
	variable string // names it for the tool; "": none does
	home     string // where it is without the variable, from the home folder
}

// caches are the folders that programs change in copies of their own. One that lies in another one
// comes after it.
var caches = []cache{
	{name: "xdg", variable: "XDG_CACHE_HOME", home: ".cache"},
	{name: "go-build", variable: "GOCACHE", home: ".cache/go-build"},
	{name: "go", variable: "GOPATH", home: "go"},
	{name: "go-mod", variable: "GOMODCACHE", home: "go/pkg/mod"},
	{name: "npm", variable: "npm_config_cache", home: ".npm"},
	{name: "cargo", variable: "CARGO_HOME", home: ".cargo"},
	{name: "pip", variable: "PIP_CACHE_DIR", home: ".cache/pip"},
	{name: "uv", variable: "UV_CACHE_DIR", home: ".cache/uv"},
	{name: "gradle", variable: "GRADLE_USER_HOME", home: ".gradle"},
	{name: "maven", home: ".m2/repository"},
	{name: "pnpm", home: ".local/share/pnpm/store"},
	{name: "deno", variable: "DENO_DIR", home: ".cache/deno"},
	{name: "bun", home: ".bun/install/cache"},
	{name: "composer", variable: "COMPOSER_CACHE_DIR", home: ".cache/composer"},
}

// layers adds the caches to a profile, and makes our folders for them. A cache without a folder of
// ours stays as it is: it can be read.
func (w Workspace) layers(p *Profile, level child.Level) {
	if w.Caches == "" || w.Home == "" {
		return
	}
	home := resolve(w.Home)
	var taken []string
	for _, c := range caches {
		at := filepath.Join(home, c.home)
		given := c.variable != "" && filepath.IsAbs(w.Env(c.variable))
		if given {
			at = resolve(w.Env(c.variable))
		}
		if c.reached(at, taken) || c.holdsRoot(at, p.Write) {
			continue // another layer has it already, or it is the workspace
		}
		l := Layer{At: at, Lower: at, Store: filepath.Join(w.Caches, c.name)}
		if info, err := os.Stat(at); err != nil || !info.IsDir() || level != child.Full {
			if c.variable == "" {
				continue
			}
			l.Lower, l.At = "", filepath.Join("/run/caches", c.name)
		}
		if makeStore(l.Store) != nil {
			continue
		}
		taken = append(taken, at)
		p.Layers = append(p.Layers, l)
		switch {
		case l.Lower != "":
		case level == child.Full:
			p.Env = append(p.Env, c.variable+"="+l.At)
		default:
			p.Env = append(p.Env, c.variable+"="+filepath.Join(l.Store, "upper"))
		}
	}
}

// makeStore makes the folders of a layer.
func makeStore(dir string) error {
	return errors.Join(os.MkdirAll(filepath.Join(dir, "upper"), 0o700), os.MkdirAll(filepath.Join(dir, "work"), 0o700))
}

// reached reports whether a layer over one of the taken folders covers a cache.
func (c cache) reached(at string, taken []string) bool {
	for _, dir := range taken {
		if within(dir, at) {
			return true
		}
	}
	return false
}

// holdsRoot reports whether a cache is part of what programs can change, or holds some of it.
func (c cache) holdsRoot(at string, write []string) bool {
	for _, root := range write {
		if within(root, at) {
			return true
		}
	}
	return false
}

// nameOf returns a name for a folder of ours that belongs to a workspace.
func nameOf(root string) string {
	sum := sha256.Sum256([]byte(root))
	return hex.EncodeToString(sum[:8])
}
