package toolsearch

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"

	"dragoman/core/inference"
)

// The names of the two tools: one finds tools that are not listed, the other calls them.
const (
	Search = "tool_search"
	Call   = "call_tool"
)

// The tools as listed, in addition to SearchDescription.
const (
	SearchTitle  = "Search for tools"
	SearchSchema = `{"type":"object","properties":{` +
		`"query":{"type":"string","description":"Words for what the tool should do, or a part of its name. Empty: the names of all."},` +
		`"limit":{"type":"integer","minimum":1,"maximum":20,"description":"How many to show; 5 if left out."}},"required":["query"]}`

	CallTitle       = "Call a tool"
	CallDescription = "Calls a tool that " + Search + " has found."
	CallSchema      = `{"type":"object","properties":{` +
		`"name":{"type":"string","description":"The tool's name, as ` + Search + ` writes it."},` +
		`"arguments":{"type":"object","description":"The tool's arguments, which fit its schema."}},"required":["name","arguments"]}`
)

// SearchDescription describes Search when the tools of these servers are not listed.
func SearchDescription(servers []string) string {
	return "Finds tools that are not listed here, those of the MCP servers " + strings.Join(servers, ", ") +
		": what each is for, and its arguments. Use it before you say that something cannot be done. Call what it finds with " + Call + "."
}

const (
	// usualFound and mostFound are the numbers of tools that a search shows.
	usualFound, mostFound = 5, 20
	// maxAnswer bounds the answer to a search, in bytes.
	maxAnswer = 48 << 10
	// maxShown bounds a tool's description, and its schema, in bytes.
	maxShown = 16 << 10
)

// Answer answers a call of Search with the hidden tools that match its arguments, or
// with the names of all of them if the query is empty. The answer is bounded.
func Answer(hidden []inference.ToolSpec, args json.RawMessage) string {
	var p struct {
		Query string  `json:"query"`
		Limit float64 `json:"limit"`
	}
	_ = json.Unmarshal(args, &p) // invalid arguments count as an empty query
	if strings.TrimSpace(p.Query) == "" {
		return names(hidden)
	}
	found := rank(hidden, p.Query)
	if len(found) == 0 {
		return fmt.Sprintf(
			"None of the %d tools fits %q. Try other words, or an empty query for all names.",
			len(hidden),
			p.Query,
		)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%d of %d tools fit", len(found), len(hidden))
	if n := max(min(int(cmp.Or(max(p.Limit, 0), usualFound)), mostFound), 1); len(found) > n {
		fmt.Fprintf(&b, "; here are the best %d", n)
		found = found[:n]
	}
	fmt.Fprintf(&b, ". Call one with %s {\"name\": NAME, \"arguments\": {…}}.\n", Call)
	for i, t := range found {
		if i > 0 && b.Len()+len(t.Description)+len(t.Schema) > maxAnswer {
			fmt.Fprintf(&b, "\n%d more are too long to be shown here; look for them by name.\n", len(found)-i)
			break
		}
		fmt.Fprintf(
			&b,
			"\n%s\n%s\narguments: %s\n",
			t.Name,
			upTo(maxShown, t.Description),
			upTo(maxShown, string(t.Schema)),
		)
	}
	return b.String()
}

// names lists the names of tools.
func names(hidden []inference.ToolSpec) string {
	var b strings.Builder
	fmt.Fprintf(&b, "There are %d tools. Search for one to see what it is for.\n", len(hidden))
	for i, t := range hidden {
		if b.Len() > maxAnswer {
			fmt.Fprintf(&b, "… and %d more\n", len(hidden)-i)
			break
		}
		b.WriteString(t.Name + "\n")
	}
	return b.String()
}

// upTo cuts a text that is longer than most bytes.
func upTo(most int, s string) string {
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + fmt.Sprintf(" … (%d bytes)", len(s))
}
