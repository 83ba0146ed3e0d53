package mcp

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	proto "dragoman/adapters/proto/mcp"
)

// rootsLimit is how long a client may take to list its roots.
const rootsLimit = 10 * time.Second

// workspace is where a new session works: cwd, which must lie within the roots, or all of them. Symbolic links are
// resolved, so that nothing can be changed behind the check.
func (c *client) workspace(ctx context.Context, req asking, cwd string) ([]string, error) {
	roots, err := c.roots(ctx, req, true)
	if err != nil || cwd == "" {
		return roots, err
	}
	if !filepath.IsAbs(cwd) {
		return nil, errText(fmt.Sprintf("cwd must be an absolute path; %q is not.", cwd))
	}
	dir, err := directory(cwd)
	if err != nil {
		return nil, errText(fmt.Sprintf("cwd: %v.", err))
	}
	for _, root := range roots {
		if within(root, dir) {
			return []string{dir}, nil
		}
	}
	return nil, errText(fmt.Sprintf("cwd %s lies outside of the folders that this gateway may work in: %s.", cwd, strings.Join(roots, ", ")))
}

// roots returns the folders that sessions of this client may work in, at least one, with links resolved. anew asks the
// client for its own roots, which is needed for a new session. Else those that it gave last hold until it says that they
// have changed.
func (c *client) roots(ctx context.Context, req asking, anew bool) ([]string, error) {
	o := c.server.opts
	list, whose := o.Roots, "--root"
	if len(list) == 0 {
		list, whose = o.Settings().Workspaces, "mcp.workspaces"
	}
	if len(list) == 0 {
		var err error
		if list, err = c.told(ctx, req, anew); err != nil {
			return nil, err
		}
		whose = "the client's root"
	}
	if len(list) == 0 {
		return c.started()
	}
	var roots []string
	for _, r := range list {
		dir, err := directory(r)
		if err != nil {
			return nil, errText(fmt.Sprintf("%s: %v.", whose, err))
		}
		roots = append(roots, dir)
	}
	return roots, nil
}

// told returns the client's own roots.
func (c *client) told(ctx context.Context, req asking, anew bool) ([]string, error) {
	c.mu.Lock()
	list, known, at := c.folders, c.foldersKnown, c.foldersChanged
	c.mu.Unlock()
	if known && !anew {
		return list, nil
	}
	list, err := clientRoots(ctx, req)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.foldersChanged == at { // they have not changed while it was asked
		c.folders, c.foldersKnown = list, true
	}
	return list, nil
}

// rootsChanged notes that the client's roots have changed.
func (c *client) rootsChanged() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.foldersKnown = false
	c.foldersChanged++
}

// reach describes the sessions that an MCP client may see: those whose folders all lie within its roots.
type reach struct {
	roots []string
	known map[string]bool // folders that were looked at
}

func (c *client) reach(ctx context.Context, req asking) (*reach, error) {
	roots, err := c.roots(ctx, req, false)
	return &reach{roots, map[string]bool{}}, err
}

// covers reports whether a session is one of them.
func (r *reach) covers(cwd string, roots []string) bool {
	for _, dir := range append(roots[:len(roots):len(roots)], cwd) {
		inside, known := r.known[dir]
		if !known {
			if where, ok := placeOf(dir); ok {
				inside = slices.ContainsFunc(r.roots, func(root string) bool { return within(root, where) })
			}
			r.known[dir] = inside
		}
		if !inside {
			return false
		}
	}
	return true
}

// placeOf returns a folder's path with symbolic links resolved, also for a folder that no longer exists; ok is false if
// the path cannot be determined.
func placeOf(dir string) (_ string, ok bool) {
	dir = filepath.Clean(dir)
	gone := ""
	for filepath.IsAbs(dir) {
		if at, err := filepath.EvalSymlinks(dir); err == nil {
			return filepath.Join(at, gone), true
		}
		if _, err := os.Lstat(dir); !errors.Is(err, fs.ErrNotExist) || dir == filepath.Dir(dir) { // a link that leads nowhere
			return "", false
		}
		dir, gone = filepath.Dir(dir), filepath.Join(filepath.Base(dir), gone)
	}
	return "", false
}

// started is the directory that the gateway was started in, unless that says nothing.
func (c *client) started() ([]string, error) {
	o := c.server.opts
	dir, err := directory(o.Cwd)
	if err != nil {
		return nil, errText(fmt.Sprintf("The gateway's own directory cannot be used: %v. Start it with --root DIR.", err))
	}
	home, err := directory(o.Home)
	if dir == filepath.Dir(dir) || err == nil && dir == home {
		return nil, errText(fmt.Sprintf("The gateway was started in %s, which is too much to work in, and the client names no roots. "+
			"Start the gateway in the project's folder, or with --root DIR.", dir))
	}
	return []string{dir}, nil
}

// clientRoots asks the client (Client, Roots; up to 2025-11-25). A client that has none returns none.
func clientRoots(ctx context.Context, req asking) ([]string, error) {
	caps := req.ClientCapabilities()
	if caps == nil || caps.RootsV2 == nil || req.ProtocolVersion() >= proto.Modern { //nolint:staticcheck // deprecated from 2026-07-28 on, where it is not used
		return nil, nil
	}
	ctx, stop := context.WithTimeout(ctx, rootsLimit)
	defer stop()
	ss, ok := req.GetSession().(*mcp.ServerSession)
	if !ok {
		return nil, nil
	}
	res, err := ss.ListRoots(ctx, nil) //nolint:staticcheck // as above
	if err != nil {
		return nil, errText(fmt.Sprintf("The client says that it has roots, but does not list them: %v.", err))
	}
	var list []string
	for _, r := range res.Roots {
		if p, ok := filePath(r.URI); ok {
			list = append(list, p)
		}
	}
	return list, nil
}

// filePath is the path that a file URI names.
func filePath(uri string) (string, bool) {
	u, err := url.Parse(uri)
	if err != nil || u.Scheme != "file" || u.Host != "" && u.Host != "localhost" {
		return "", false
	}
	p := u.Path
	if len(p) > 2 && p[0] == '/' && p[2] == ':' { // "/C:/x" of Windows
		p = p[1:]
	}
	p = filepath.FromSlash(p)
	return p, filepath.IsAbs(p)
}

// directory resolves a path to an existing directory.
func directory(path string) (string, error) {
	abs, err := filepath.Abs(path)
	if err != nil || path == "" {
		return "", fmt.Errorf("no directory is named")
	}
	dir, err := filepath.EvalSymlinks(abs)
	if err != nil {
		return "", fmt.Errorf("there is no directory %s", path)
	}
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return "", fmt.Errorf("%s is not a directory", path)
	}
	return dir, nil
}

// within reports whether path is root or lies below it; both are resolved.
func within(root, path string) bool {
	rel, err := filepath.Rel(root, path)
	return err == nil && (rel == "." || filepath.IsLocal(rel))
}

// samePath reports whether two paths name one directory.
func samePath(a, b string) bool {
	if filepath.Clean(a) == filepath.Clean(b) {
		return true
	}
	x, errX := directory(a)
	y, errY := directory(b)
	return errX == nil && errY == nil && x == y
}
