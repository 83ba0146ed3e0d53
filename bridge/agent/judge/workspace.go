package judge

import (
	"dragoman/core"
	"dragoman/core/files"
)

// Workspace returns the files of a session that an agent runs. It must be closed.
func Workspace(bind core.Binding) *files.Workspace { return files.New(host{bind}) }

// host is the workspace's host.
type host struct{ bind core.Binding }

// Meta implements files.Host.
func (h host) Meta() core.Meta { return h.bind.Meta }

// Editor implements files.Host.
func (h host) Editor(path string) core.Editor { return h.bind.Host.Editor(path) }

// Texts implements files.Host.
func (h host) Texts() *core.Texts { return h.bind.Host.Texts() }

// Spills implements files.Host.
func (h host) Spills() core.Spills { return nil }
