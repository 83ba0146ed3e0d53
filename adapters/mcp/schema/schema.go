// Package schema writes the schemas of the forms that an MCP client shows its user (Client, Elicitation).
package schema

import (
	"encoding/json"

	proto "dragoman/adapters/proto/mcp"
	"dragoman/core"
	"dragoman/core/display"
	"dragoman/core/forms"
	"dragoman/core/jsonscan"
)

// The fields of the answer to an approval.
const (
	Decision = "decision" // the ID of one of the options
	Note     = "note"     // a word to the agent
)

// maxTitle limits the title of an option, in characters.
const maxTitle = 300

// Question returns the schema of the answer to a question, for a version of the protocol.
func Question(version string, f forms.Form) json.RawMessage {
	b := []byte(`{"type":"object","properties":{`)
	if len(f.Options) > 0 {
		b = append(b, `"`+forms.Choice+`":{"type":"string","title":"Answer",`...)
		b = append(appendOptions(b, version, f.Options), '}')
	}
	switch {
	case len(f.Options) == 0:
		b = append(b, `"`+forms.Text+`":{"type":"string","title":"Answer"}`...)
	case f.Freeform:
		b = append(b, `,"`+forms.Text+`":{"type":"string","title":"Another answer","description":"In your own words."}`...)
	}
	b = append(b, '}')
	if f.Required != "" {
		b = append(b, `,"required":["`+f.Required+`"]`...)
	}
	return append(b, '}')
}

// Approval returns the schema of the answer to an approval. A list of an agent that does not fit
// (Ask.Fits) is shown as it is, and has no default. Only with texts there is a field for a note.
func Approval(version string, texts bool, a core.Ask) json.RawMessage {
	b := []byte(`{"type":"object","properties":{"` + Decision + `":{"type":"string","title":"Decision",`)
	if a.Fits() {
		options := []core.Option{{ID: string(core.AllowOnce), Label: "Allow once"}}
		if a.Remember != "" {
			options = append(options, core.Option{ID: string(core.AllowSession), Label: "Allow for this session: " + a.Remember})
		}
		if b = appendOptions(b, version, options); version >= proto.Titles {
			b = append(b, `,"default":"`+string(core.AllowOnce)+`"`...)
		}
	} else {
		b = appendOptions(b, version, a.Options)
	}
	b = append(b, '}')
	if texts {
		b = append(b, `,"`+Note+`":{"type":"string","title":"Note","description":"A word to the agent; may be left out."}`...)
	}
	if b = append(b, '}'); !a.Fits() {
		b = append(b, `,"required":["`+Decision+`"]`...)
	}
	return append(b, '}')
}

// appendOptions appends a choice. Since 2025-11-25 choices have titles in this form.
func appendOptions(b []byte, version string, options []core.Option) []byte {
	title := func(o core.Option) string {
		if o.Description == "" {
			return display.Line(o.Label, maxTitle)
		}
		return display.Line(o.Label+": "+o.Description, maxTitle)
	}
	if version >= proto.Titles {
		b = append(b, `"oneOf":[`...)
		for i, o := range options {
			if i > 0 {
				b = append(b, ',')
			}
			b = jsonscan.AppendString(append(b, `{"const":`...), o.ID)
			b = append(jsonscan.AppendString(append(b, `,"title":`...), title(o)), '}')
		}
		return append(b, ']')
	}
	names := []byte(`],"enumNames":[`)
	b = append(b, `"enum":[`...)
	for i, o := range options {
		if i > 0 {
			b, names = append(b, ','), append(names, ',')
		}
		b, names = jsonscan.AppendString(b, o.ID), jsonscan.AppendString(names, title(o))
	}
	return append(append(b, names...), ']')
}
