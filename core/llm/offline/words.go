package offline

import (
	"errors"
	"fmt"
	"strings"

	"dragoman/core"
	"dragoman/core/display"
	"dragoman/core/inference"
)

// introduction returns the demo's answer to a text that is not an instruction, and to an
// instruction that it does not understand.
func (d *Model) introduction(err error) string {
	var b strings.Builder
	var bad *stepError
	if errors.As(err, &bad) {
		fmt.Fprintf(&b, "I did nothing, because I could not follow %s: %s.\n\n", display.Code(bad.step), bad.why)
	}
	b.WriteString("I am the offline demo of dragoman, not a language model: I cannot answer questions. " +
		"What I can do is follow plain instructions, with real tools and real approvals.\n\n")
	for _, in := range instructions {
		fmt.Fprintf(&b, "- `%s`: %s\n", in.form, in.does)
	}
	b.WriteString(
		"\nJoin several with ` then `: `read README.md then run ls`. Put text that holds a \" then \" of its own, and paths with spaces, in double quotes.\n\n",
	)
	b.WriteString("**To get a real model**\n\n")
	if len(d.config.Wanted) > 0 {
		b.WriteString("I looked for a key of these providers and found none:\n\n")
		for _, w := range d.config.Wanted {
			if len(w.Variables) == 0 {
				fmt.Fprintf(&b, "- %s: needs no key, only to be running and chosen as the model\n", w.Provider)
				continue
			}
			fmt.Fprintf(&b, "- %s: `%s`\n", w.Provider, strings.Join(w.Variables, "` or `"))
		}
		b.WriteString("\nSet one of these variables where dragoman is started, and start it again. ")
	} else {
		b.WriteString("Set a provider's key where dragoman is started, and start it again. ")
	}
	b.WriteString("Programs that were started from a desktop do not see the variables of your shell.")
	if d.config.KeyFile != "" {
		fmt.Fprintf(&b, " For those, and whenever you prefer a file, put the key into `%s`.", d.config.KeyFile)
	}
	b.WriteByte('\n')
	return b.String()
}

// outcome is a step for a tool, and its result; nil: there is no such tool.
type outcome struct {
	step   step
	result *inference.ToolReturn
}

// The limits of a shown result.
const (
	shownLines = 20
	shownBytes = 8 << 10
)

// report lists the result of each call.
func report(outcomes []outcome) string {
	var b strings.Builder
	for i, o := range outcomes {
		if i > 0 {
			b.WriteByte('\n')
		}
		switch {
		case o.result == nil:
			fmt.Fprintf(
				&b,
				"%s was not possible: this session offers no tool named %s.\n",
				display.Code(o.step.said),
				o.step.tool(),
			)
			if o.step.verb == verbAsk {
				b.WriteString("Nobody can be asked here.\n")
			}
			continue
		case o.result.Failed:
			fmt.Fprintf(&b, "%s did not succeed:\n\n", display.Code(o.step.said))
		default:
			fmt.Fprintf(&b, "%s returned:\n\n", display.Code(o.step.said))
		}
		writeResult(&b, o.result.Blocks)
	}
	return b.String()
}

func writeResult(b *strings.Builder, blocks []core.Block) {
	var texts []string
	for _, block := range blocks {
		if t := blockText(block); t != "" {
			texts = append(texts, t)
		}
	}
	text := strings.TrimRight(strings.Join(texts, "\n"), "\r\n")
	if text == "" {
		b.WriteString("(nothing)\n")
		return
	}
	lines := strings.Split(strings.ToValidUTF8(text, "\uFFFD"), "\n")
	shown := strings.Join(lines[:min(len(lines), shownLines)], "\n")
	cut := display.Cut(shown, shownBytes)
	b.WriteString(display.Fenced("", cut))
	switch {
	case len(cut) < len(shown):
		fmt.Fprintf(b, "(the first %d KiB)\n", shownBytes>>10)
	case len(lines) > shownLines:
		fmt.Fprintf(b, "(the first %d of %d lines)\n", shownLines, len(lines))
	}
}

// blockText returns a block as text.
func blockText(block core.Block) string {
	switch b := block.(type) {
	case core.Text:
		return b.Text
	case core.Image:
		return fmt.Sprintf("(a picture: %s, %d bytes)", b.MIME, len(b.Data))
	case core.Audio:
		return fmt.Sprintf("(a sound: %s, %d bytes)", b.MIME, len(b.Data))
	case core.Link:
		return b.URI
	case core.Resource:
		if len(b.Blob) > 0 {
			return fmt.Sprintf("(%s: %s, %d bytes)", b.URI, b.MIME, len(b.Blob))
		}
		return b.Text
	case core.Diff:
		if b.Patch != "" {
			return b.Patch
		}
		return fmt.Sprintf("(a change to %s: %d lines added, %d removed)", b.Path, b.Added, b.Removed)
	case core.Terminal: // its output is in a text block of its own
	}
	return ""
}
