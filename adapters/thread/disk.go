package thread

import (
	"context"
	"errors"
	"path/filepath"
	"strings"

	"github.com/creachadair/jrpc2"

	"dragoman/core"
	"dragoman/core/files"
	"dragoman/core/jsonscan"
)

// owner gives core/files the workspace to open: that of the thread's session, on the disk. The
// peer's requests are never passed back to the peer.
type owner struct{ session *core.Session }

func (o owner) Meta() core.Meta           { return o.session.Meta() }
func (o owner) Editor(string) core.Editor { return nil }
func (o owner) Spills() core.Spills       { return nil }
func (o owner) Texts() *core.Texts        { return nil }

// place resolves a path. It must lie within a folder of the thread, links resolved, and the
// policy must allow reading it without asking, because nobody can be asked here. The reader
// follows no link: there was none when the policy was asked, so a link found later was added
// since.
func (t *thread) place(ctx context.Context, name string) (files.Place, error) {
	if name == "" || strings.ContainsRune(name, 0) {
		return files.Place{}, jrpc2.Errorf(jrpc2.InvalidParams, "path: expected the path of a file")
	}
	p, err := t.files.At(filepath.FromSlash(name))
	if err != nil {
		return files.Place{}, err
	}
	if p.Root == nil {
		return files.Place{}, jrpc2.Errorf(
			jrpc2.InvalidParams,
			"path: %.200q is outside of the thread's folder",
			name,
		)
	}
	may, err := t.reader(ctx)
	if err == nil {
		access := p.Access(core.OpRead)
		access.Linked = p.Linked()
		err = may(access)
	}
	return p, err
}

// reader consults the policy: the result is nil for files that may be read.
func (t *thread) reader(ctx context.Context) (func(core.Access) error, error) {
	meta, settings := t.att.Meta(), t.att.State().Settings
	prof, err := t.srv.opts.Gateway.Profile(ctx, t.srv.opts.Profiles, meta.Roots)
	if err != nil {
		return nil, err
	}
	if prof.Policy == nil {
		return nil, errors.New("no policy is configured")
	}
	return func(a core.Access) error {
		v := prof.Policy.Decide(core.Check{
			Call:   core.Call{Server: core.Native, Tool: "read_file", Kind: core.KindRead, Args: argsOf(a.Path)},
			Spec:   core.Spec{Server: core.Native, Name: "read_file", Kind: core.KindRead, ReadOnly: true},
			Access: []core.Access{a}, Meta: meta, Settings: settings,
		})
		switch v.Effect {
		case core.Allow:
			return nil
		case core.Deny, core.MustAsk:
		}
		return jrpc2.Errorf(jrpc2.InvalidParams, "path: %.200s may not be read: %s", a.Path, v.Why)
	}, nil
}

func argsOf(abs string) []byte { return append(jsonscan.AppendString([]byte(`{"path":`), abs), '}') }
