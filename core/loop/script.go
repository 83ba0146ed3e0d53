package loop

import (
	"fmt"
	"strings"

	"dragoman/core"
	"dragoman/core/display"
	"dragoman/core/inference"
)

// script returns a conversation as text only, of about most bytes, so that a model can
// summarize it without being offered the tools. Results are cut first, then the other
// texts, and then the oldest messages are left out, except the user's first. nil:
// there are none.
func script(messages []inference.Message, most int) []inference.Message {
	if len(messages) == 0 {
		return nil
	}
	const largest, smallest = 16 << 10, 256
	var list []inference.Message
	for cut := largest; cut >= smallest; cut /= 2 {
		if list = inScript(messages, cut); scriptBytes(list) <= most {
			return list
		}
	}
	rest, size := list, scriptBytes(list)
	var first []core.Block
	if list[0].Role == inference.RoleUser {
		first, rest = list[0].Blocks, list[1:]
	}
	for len(rest) > 1 && size > most {
		size -= scriptBytes(rest[:1])
		rest = rest[1:]
	}
	out := addUser(nil, append(first, core.Text{Text: "[Much was left out here.]"}))
	for _, m := range rest {
		if m.Role == inference.RoleUser {
			out = addUser(out, m.Blocks)
			continue
		}
		out = append(out, m)
	}
	return out
}

func scriptBytes(messages []inference.Message) (n int) {
	for _, m := range messages {
		n += len(m.Text) + weigh(m.Blocks)
	}
	return n
}

// inScript turns messages into text. Arguments and results of tools are cut to cut bytes,
// the other texts to eight times as many.
func inScript(messages []inference.Message, cut int) []inference.Message {
	var list []inference.Message
	for _, m := range messages {
		switch m.Role {
		case inference.RoleUser:
			list = addUser(list, []core.Block{core.Text{Text: said(m.Blocks, 8*cut)}})
		case inference.RoleTool:
			outcome := "returned"
			if m.Result.Failed {
				outcome = "failed"
			}
			text := fmt.Sprintf("[%s %s]\n%s", m.Result.Name, outcome, said(m.Result.Blocks, cut))
			list = addUser(list, []core.Block{core.Text{Text: text}})
		case inference.RoleAssistant:
			var parts []string
			if m.Text != "" {
				parts = append(parts, shorten(m.Text, 8*cut))
			}
			for _, c := range m.Calls {
				parts = append(parts, fmt.Sprintf("[calls %s with %s]", c.Name, shorten(string(c.Args), cut)))
			}
			list = append(list, inference.Message{Role: inference.RoleAssistant, Text: strings.Join(parts, "\n\n")})
		}
	}
	return list
}

// said returns blocks as text.
func said(blocks []core.Block, most int) string {
	var parts []string
	for _, b := range blocks {
		switch b := b.(type) {
		case core.Text:
			parts = append(parts, shorten(b.Text, most))
		case core.Resource:
			part := "[" + b.URI + "]"
			if b.Text != "" {
				part += "\n" + shorten(b.Text, most)
			}
			parts = append(parts, part)
		case core.Link:
			parts = append(parts, "["+b.URI+"]")
		case core.Image:
			parts = append(parts, "[a picture]")
		case core.Audio:
			parts = append(parts, "[a sound]")
		case core.Diff:
			parts = append(parts, "[a change of "+b.Path+"]")
		case core.Terminal:
		}
	}
	return strings.Join(parts, "\n")
}

// shorten cuts the middle of a text that is longer than most bytes.
func shorten(s string, most int) string {
	if len(s) <= most {
		return s
	}
	head, tail, left := display.Ends(s, most/2, most/2)
	return fmt.Sprintf("%s\n[… %d bytes left out …]\n%s", head, left, tail)
}

// digest returns a summary for models that are not language models: one line for each
// message and call.
func digest(messages []inference.Message) string {
	const lines, width = 100, 200
	var list []string
	line := func(head, text string) {
		if text = strings.Join(strings.Fields(text), " "); text == "" {
			return
		}
		if short, left := display.Clip(text, width-1); left > 1 {
			text = short + "…"
		}
		list = append(list, "- "+head+text)
	}
	for _, m := range messages {
		switch m.Role {
		case inference.RoleUser:
			line("user: ", said(m.Blocks, 4*width))
		case inference.RoleAssistant:
			line("agent: ", shorten(m.Text, 4*width))
			for _, c := range m.Calls {
				line("called ", c.Name+" "+shorten(string(c.Args), 4*width))
			}
		case inference.RoleTool:
			if m.Result.Failed {
				line("that failed: ", said(m.Result.Blocks, 4*width))
			}
		}
	}
	if over := len(list) - lines; over > 0 {
		list = append([]string{list[0], fmt.Sprintf("- (%d more)", over)}, list[over+1:]...)
	}
	return strings.Join(list, "\n")
}
