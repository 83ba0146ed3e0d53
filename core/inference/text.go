package inference

import (
	"cmp"
	"fmt"
	"strings"

	"dragoman/core"
)

// LinkText returns the text of a link for a model.
func LinkText(l core.Link) string {
	name := cmp.Or(l.Title, l.Name, l.URI)
	text := fmt.Sprintf("[%s](%s)", name, l.URI)
	if l.Description != "" {
		text += ": " + l.Description
	}
	var more []string
	if l.Name != "" && l.Name != name && !strings.Contains(l.URI, l.Name) {
		more = append(more, l.Name)
	}
	if l.MIME != "" {
		more = append(more, l.MIME)
	}
	if l.Size > 0 {
		more = append(more, fmt.Sprintf("%d bytes", l.Size))
	}
	if more != nil {
		text += " (" + strings.Join(more, ", ") + ")"
	}
	return text
}

// ResourceText returns a resource for a model: its text between tags with its URI and lines.
func ResourceText(r core.Resource) string {
	lines := ""
	if r.Lines != [2]int{} {
		lines = fmt.Sprintf(" lines=\"%d-%d\"", r.Lines[0], r.Lines[1])
	}
	if len(r.Blob) > 0 {
		return fmt.Sprintf("(The content of %s is not text: %s, %d bytes)", r.URI, r.MIME, len(r.Blob))
	}
	return fmt.Sprintf("<resource uri=%q%s>\n%s\n</resource>", r.URI, lines, r.Text)
}
