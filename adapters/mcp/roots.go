package mcp

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"dragoman/adapters/mcp/folders"
	proto "dragoman/adapters/proto/mcp"
)

// rootsLimit limits the time that a client may take to list its roots.
const rootsLimit = 10 * time.Second

// workspace returns the folders of a new session: cwd, which must lie within the roots, or all of
// the roots. Symbolic links are resolved, so that nothing can change after the check.
func (c *client) workspace(ctx context.Context, req clientRequest, cwd string) ([]string, error) {
	roots, err := c.roots(ctx, req, true)
	if err != nil || cwd == "" {
		return roots, err
	}
	if !filepath.IsAbs(cwd) {
		return nil, errText(fmt.Sprintf("cwd must be an absolute path; %q is not.", cwd))
	}
	dir, err := folders.Resolve(cwd)
	if err != nil {
		return nil, errText(fmt.Sprintf("cwd: %v.", err))
	}
	for _, root := range roots {
		if folders.Within(root, dir) {
			return []string{dir}, nil
		}
	}
	return nil, errText(fmt.Sprintf("cwd %s lies outside of the folders that this gateway may work in: %s.", cwd, strings.Join(roots, ", ")))
}

// roots returns the folders that sessions of this client may work in, at least one, with links
// resolved. anew asks the client for its own roots, which is needed for a new session. Otherwise
// the last known roots hold until the client reports a change.
func (c *client) roots(ctx context.Context, req clientRequest, anew bool) ([]string, error) {
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
		dir, err := folders.Resolve(r)
		if err != nil {
			return nil, errText(fmt.Sprintf("%s: %v.", whose, err))
		}
		roots = append(roots, dir)
	}
	return roots, nil
}

// told returns the client's own roots.
func (c *client) told(ctx context.Context, req clientRequest, anew bool) ([]string, error) {
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
	if c.foldersChanged == at { // no change was reported during the request
		c.folders, c.foldersKnown = list, true
	}
	return list, nil
}

// rootsChanged records that the client's roots have changed.
func (c *client) rootsChanged() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.foldersKnown = false
	c.foldersChanged++
}

// reach describes the sessions that the client may see: those whose folders all lie within its
// roots.
func (c *client) reach(ctx context.Context, req clientRequest) (*folders.Reach, error) {
	roots, err := c.roots(ctx, req, false)
	return folders.NewReach(roots), err
}

// started returns the directory that the gateway was started in, unless it is too general.
func (c *client) started() ([]string, error) {
	o := c.server.opts
	dir, err := folders.Resolve(o.Cwd)
	if err != nil {
		return nil, errText(fmt.Sprintf("The gateway's own directory cannot be used: %v. Start it with --root DIR.", err))
	}
	home, err := folders.Resolve(o.Home)
	if dir == filepath.Dir(dir) || err == nil && dir == home {
		return nil, errText(fmt.Sprintf("The gateway was started in %s, which is too much to work in, and the client names no roots. "+
			"Start the gateway in the project's folder, or with --root DIR.", dir))
	}
	return []string{dir}, nil
}

// clientRoots asks the client (Client, Roots; up to 2025-11-25). It returns none if the client
// has none.
func clientRoots(ctx context.Context, req clientRequest) ([]string, error) {
	caps := req.ClientCapabilities()
	if caps == nil || caps.RootsV2 == nil || req.ProtocolVersion() >= proto.Modern { //nolint:staticcheck // deprecated since 2026-07-28, where it is not used
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
		if p, ok := folders.OfURI(r.URI); ok {
			list = append(list, p)
		}
	}
	return list, nil
}
