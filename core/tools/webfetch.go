package tools

import (
	"context"
	"errors"
	"fmt"
	"net/url"

	"dragoman/core"
	"dragoman/core/display"
	"dragoman/core/files"
	"dragoman/core/web"
)

var fetchSpec = core.Spec{
	Server: core.Native,
	Name:   "web_fetch",
	Title:  "Fetch a page",
	Description: "Gets a public web page or file as text: HTML as its readable text with links, other text types as they are. At most 1 MiB and " +
		"10 seconds; a redirect to another host is not followed but named. Addresses of this machine and of local networks are refused: use " +
		"shell_command for those.",
	Schema: []byte(`{
  "type": "object",
  "properties": {
    "url": {"type": "string", "description": "The address: http:// or https://."}
  },
  "required": ["url"],
  "additionalProperties": false
}`),
	Kind:       core.KindFetch,
	ReadOnly:   true,
	Idempotent: true,
}

func (s *toolset) prepareFetch(_ context.Context, a *args) (*step, error) {
	raw := a.text("url")
	if err := a.done(); err != nil {
		return nil, err
	}
	u, err := web.ParseURL(raw)
	if err != nil {
		return nil, err
	}
	if err := s.net.Refuses(u); err != nil { // nobody is asked for a yes that would not help
		return nil, err
	}
	var content []core.Block
	if _, left := display.Clip(u.String(), titleMax); left > 0 {
		content = []core.Block{core.Text{Text: codeBlock(u.String(), "")}}
	}
	return &step{
		Preview: core.Preview{
			Title:   "Fetch " + codeInTitle(u.String()),
			Content: content,
			Access:  []core.Access{{Op: core.OpNet, URL: u.String()}},
		},
		run: func(ctx context.Context, _ core.Invocation) (core.Result, error) {
			forbids, err := s.forbids()
			if err != nil {
				return core.Result{}, err
			}
			f := s.net
			f.Hop = func(from, to *url.URL) error {
				if forbids(core.Access{Op: core.OpNet, URL: to.String()}) {
					return errors.New("it is redirected to an address that a rule forbids")
				}
				return web.SameHost(from, to)
			}
			p, err := f.Get(ctx, u.String())
			if err != nil {
				return core.Result{}, err
			}
			return s.fetched(p), nil
		},
	}, nil
}

// fetched returns a page as a result, limited like other outputs.
func (s *toolset) fetched(p web.Page) core.Result {
	shown, spill := s.bounded(p.Text)
	res := text(shown, notes(
		note(p.Cut, fmt.Sprintf("the page is larger than %d MiB: this is its beginning", web.MaxPage>>20)),
		note(p.Text == "" || p.Text == "\n", "the page has no text"),
	))
	res.Spill = spill
	return res
}

// bounded cuts a text to the limits of a result, and writes the whole of a longer one
// to a file, which it returns as well.
func (s *toolset) bounded(whole string) (shown, spill string) {
	out := newCapture(s.host.Spills(), s.most)
	out.write(whole)
	shown, err := out.result()
	if err != nil {
		shown += "\n[the whole text could not be kept: " + files.Cause(err).Error() + "]"
	}
	return shown, out.ref
}
