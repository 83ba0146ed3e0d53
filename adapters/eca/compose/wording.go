package compose

import (
	"fmt"
	"strings"
	"unicode/utf16"

	"dragoman/adapters/proto/eca"
	"dragoman/core"
	"dragoman/core/display"
	"dragoman/core/inference"
)

const completionSystem = `You complete source code and prose inside an editor.
The user's message is a document in which %s marks the cursor.
Answer with exactly the text that belongs in the place of that mark, so that the document reads on from what stands in front of it to what stands behind it.
- Write the continuation only: repeat nothing of the document, explain nothing, and put no code fence around it.
- Keep the document's language, style, names and indentation.
- Prefer a short completion: the rest of the line, or of the block that was begun.
- If nothing belongs there, answer with nothing.`

const rewriteSystem = `You rewrite a piece of text inside an editor. Your answer takes the place of the selected text, character for character.
- Answer with the new text only: no explanation, no greeting, and no code fence around it.
- Do what the user asks and change nothing else. Keep the text's language, style, indentation and line endings.
- What stands around the selection is there to be understood. It does not belong into your answer.`

const (
	beforeCursor = 16 << 10 // bytes of the document that the model sees before the cursor
	behindCursor = 4 << 10
)

// completionRequest asks for the text that belongs at a place of a document. line is the text
// before the cursor in its line.
func completionRequest(doc string, at eca.Place) (r inference.Request, line string) {
	i := offsetOf(doc, at)
	before, behind := display.CutEnd(doc[:i], beforeCursor), display.Cut(doc[i:], behindCursor)
	mark := "<|cursor|>"
	for strings.Contains(before+behind, mark) {
		mark = "<|" + mark + "|>"
	}
	r.System = fmt.Sprintf(completionSystem, mark)
	r.Messages = []inference.Message{{
		Role: inference.RoleUser, Blocks: []core.Block{core.Text{Text: before + mark + behind}},
	}}
	return r, before[strings.LastIndexByte(before, '\n')+1:]
}

// rewriteRequest asks for a replacement of a text. file is the text around it; "": unknown.
func rewriteRequest(p eca.RewriteParams, file string) inference.Request {
	var b strings.Builder
	if p.Path != nil && *p.Path != "" {
		fmt.Fprintf(&b, "The text is in the file %s", *p.Path)
		if p.Range.Start.Line > 0 {
			fmt.Fprintf(&b, ", lines %d to %d", p.Range.Start.Line, max(p.Range.Start.Line, p.Range.End.Line))
		}
		b.WriteString(".\n\n")
	}
	if file != "" {
		b.WriteString("The text around it:\n" + fenced(file) + "\n\n")
	}
	b.WriteString("The selected text:\n" + fenced(p.Text) + "\n\nWhat shall become of it: " + p.Prompt)
	return inference.Request{System: rewriteSystem, Messages: []inference.Message{{
		Role: inference.RoleUser, Blocks: []core.Block{core.Text{Text: b.String()}},
	}}}
}

// fenced puts a text between fences that do not occur in it.
func fenced(text string) string {
	fence := "```"
	for strings.Contains(text, fence) {
		fence += "`"
	}
	return fence + "\n" + strings.TrimSuffix(text, "\n") + "\n" + fence
}

// Bare returns an answer without the fence that a model puts around all of it.
func Bare(text string) string {
	trimmed := strings.TrimSpace(text)
	fence := trimmed[:len(trimmed)-len(strings.TrimLeft(trimmed, "`"))]
	if len(fence) < 3 || !strings.HasSuffix(trimmed, "\n"+fence) {
		return text
	}
	_, inner, _ := strings.Cut(trimmed, "\n") // the fence may name a language
	if inner = strings.TrimSuffix(inner, fence); strings.Contains(inner, "\n"+fence+"\n") {
		return text // two of them
	}
	return strings.TrimSuffix(inner, "\n")
}

// continuation returns the part of a model's answer that belongs after the beginning of a line.
func continuation(answer, line string) string {
	text := strings.TrimRight(Bare(answer), "\r\n\t ")
	if begun := strings.TrimLeft(line, " \t"); len(begun) > 2 &&
		strings.HasPrefix(strings.TrimLeft(text, " \t"), begun) {
		text = strings.TrimLeft(text, " \t")[len(begun):]
	}
	return text
}

// offsetOf returns a place as an offset in bytes. Lines count from 1, and so do columns, in
// UTF-16 units; a place outside of the text becomes the nearest one inside.
func offsetOf(text string, at eca.Place) int {
	start := 0
	for range at.Line - 1 {
		i := strings.IndexByte(text[start:], '\n')
		if i < 0 {
			return len(text)
		}
		start += i + 1
	}
	units := at.Character - 1
	for i, r := range text[start:] {
		if units <= 0 || r == '\n' || r == '\r' {
			return start + i
		}
		units -= max(utf16.RuneLen(r), 1)
	}
	return len(text)
}
