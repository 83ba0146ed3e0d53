package loop

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"dragoman/core"
	"dragoman/core/display"
	"dragoman/core/inference"
)

// learn adds the parts of a notice to those that are left out of requests.
func (h *history) learn(e core.Notice) {
	if e.Refused == nil {
		return
	}
	was := h.refused[e.Refused.Model]
	h.refused = maps.Clone(h.refused) // requests have the old one
	if h.refused == nil {
		h.refused = map[string][]string{}
	}
	h.refused[e.Refused.Model] = slices.Concat(was, e.Refused.Parts)
}

// leftOut tells the user, and the later requests, what the service of the model has refused.
func (a *answer) leftOut(d inference.Delta) core.Event {
	const most = 6 // names
	names := refusedNames(a.request, d.Refused)
	they, are := "It is", len(names)
	if are > 1 {
		they = "They are"
	}
	if are > most {
		names = append(names[:most-1:most-1], fmt.Sprintf("%d others", are-most+1))
	}
	text := fmt.Sprintf("%s refused %s: %s. %s left out of the requests to this model from now on. Other models get everything.",
		a.model.ID, listed(names), reasonOf(d.Bad), they)
	return core.Notice{Severity: core.Warning, Text: text, Refused: &core.Refused{Model: a.model.ID, Parts: d.Refused}}
}

func listed(names []string) string {
	if n := len(names); n > 1 {
		return strings.Join(names[:n-1], ", ") + " and " + names[n-1]
	}
	return strings.Join(names, "")
}

// refusedNames returns names for people of the parts of a request that have these keys.
func refusedNames(r *inference.Request, keys []string) (names []string) {
	add := func(name string) {
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	thoughts := 0
	for _, k := range keys {
		switch tool, isTool := inference.ToolOf(k); {
		case k == inference.AllPictures:
			add("all pictures")
		case k == inference.AllTools:
			add("all tools")
		case isTool:
			add("the tool " + display.Visible(tool))
		default:
			picture := pictureName(r, k)
			if picture == "" {
				thoughts++
				continue
			}
			add(picture)
		}
	}
	switch thoughts {
	case 0:
	case 1:
		add("a thought from an earlier answer")
	default:
		add(fmt.Sprintf("%d thoughts from earlier answers", thoughts))
	}
	return names
}

// pictureName describes the first picture with a key by its place in the conversation; "": there is none.
func pictureName(r *inference.Request, key string) string {
	for i := range r.Messages {
		m := &r.Messages[i]
		for _, list := range [][]core.Block{m.Blocks, m.Result.Blocks} {
			at := 0
			for _, b := range list {
				if !isPicture(b) {
					continue
				}
				if at++; inference.PictureKey(b) != key {
					continue
				}
				name := "the picture"
				if n := pictures(list); n > 1 {
					name = fmt.Sprintf("picture %d of %d", at, n)
				}
				if own := fileName(b); own != "" {
					name += " " + own
				}
				if m.Role == inference.RoleTool {
					return name + " that " + display.Visible(m.Result.Name) + " returned"
				}
				if said := beginning(list); said != "" {
					return name + " of the message “" + said + "”"
				}
				return name + " of a message without text"
			}
		}
	}
	return ""
}

func isPicture(b core.Block) bool { return inference.PictureKey(b) != "" }

func pictures(list []core.Block) (n int) {
	for _, b := range list {
		if isPicture(b) {
			n++
		}
	}
	return n
}

// fileName returns the name of a picture's file; "": it has none.
func fileName(b core.Block) string {
	uri := ""
	switch b := b.(type) {
	case core.Image:
		uri = b.URI
	case core.Resource:
		uri = b.URI
	case core.Text, core.Audio, core.Link, core.Diff, core.Terminal:
	}
	if uri == "" || strings.HasPrefix(uri, "data:") {
		return ""
	}
	uri, _, _ = strings.Cut(uri, "?")
	return display.Clipped(display.Visible(path.Base(uri)), maxNamed)
}

// maxNamed limits a part of a text by which people know it again, in characters.
const maxNamed = 60

// beginning returns the beginning of the first text.
func beginning(list []core.Block) string {
	for _, b := range list {
		if t, ok := b.(core.Text); ok && strings.TrimSpace(t.Text) != "" {
			line, _, _ := strings.Cut(strings.TrimSpace(t.Text), "\n")
			return display.Clipped(display.Visible(line), maxNamed)
		}
	}
	return ""
}
