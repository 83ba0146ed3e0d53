package bridge_test

import (
	"slices"
	"strings"

	"dragoman/bridge/agent/growth"
	"dragoman/core"
)

// inACP shows events as ACP has them: a source is a link in the answer, and beside a change to a file there
// are neither words nor output.
func inACP(events []core.Event, _ []string) (list []core.Event) {
	diffs := map[core.CallID]bool{} // the calls that show a change to a file
	for _, ev := range events {
		switch e := ev.(type) {
		case core.Foreign:
			if link, ok := onlyLink(e.Content); ok {
				ev = core.Cited{Link: link}
			}
		case core.CallChanged:
			diffs[e.Call.ID] = slices.ContainsFunc(e.Call.Content, isDiff)
			ev = plain(e)
		case core.CallOutput:
			if diffs[e.Call] {
				continue
			}
		}
		list = append(list, ev)
	}
	return list
}

func onlyLink(content []core.Block) (core.Link, bool) {
	if len(content) != 1 {
		return core.Link{}, false
	}
	link, ok := content[0].(core.Link)
	return link, ok
}

func isDiff(b core.Block) bool { _, ok := b.(core.Diff); return ok }

// plain returns a call with its result as it was before it was set for a client that shows Markdown, and
// without what is beside a change to a file.
func plain(e core.CallChanged) core.CallChanged {
	var content []core.Block
	diff := slices.ContainsFunc(e.Call.Content, isDiff)
	for _, b := range e.Call.Content {
		if text, ok := b.(core.Text); ok {
			b = core.Text{Text: strings.TrimSpace(growth.Unfenced(text.Text))}
		}
		if !diff || isDiff(b) {
			content = append(content, b)
		}
	}
	e.Call.Content = content
	return e
}
