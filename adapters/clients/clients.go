// Package clients is the table of the clients whose conduct is known, whatever protocol they speak:
// editors over ACP and ECA, agents over MCP.
//
// A client's name decides what the client is shown, and never what it is allowed: anybody can give any
// name. Each field is one thing that a client does differently from what its protocol says or leaves
// open, and its zero value is what suits a client that nobody knows.
package clients

import (
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// Row describes how a client differs from others.
type Row struct {
	Name string // begins clientInfo.name, in any case, and ends at the end of a word
	Why  string // what the client does with our messages
	Test string // shows it: FOLDER.TestName, one or several

	// Flow means that the client reads as fast as it can process messages, and no faster: it has no
	// queue that overflows. A long history needs no pauses, and text that is growing is not gathered.
	Flow bool

	// Of ACP.

	// Names means that the client shows the names of the options of a question. Others show a word of
	// their own for each kind of option, and one option of each kind: they are offered no more than one,
	// and none that allows more than what is asked about.
	Names bool
	// Prompts means that the client takes a message of the user that is not its own between its prompts.
	Prompts bool
	Gateway bool // it shows questions to clients of its own: names say all that an answer covers
	Fences  bool // it sets what a reading call has returned as code
	Counts  bool // it counts the changed lines of an edit
	Texts   bool // of the blocks of a message it shows texts alone: links to resources have to be texts
	Strings bool // it sets options to strings alone, and reads false as nothing: a switch is a choice of two

	// Of ECA.

	Formats   bool          // it takes the text of a message to show for a format
	Faultless bool          // it takes every result for a success: logins, completions
	Rewinds   bool          // it offers to go back to a message whether or not the agent can, and shows the refusal
	Output    bool          // of a call's result it reads only the text that the first documents had
	Unshown   bool          // it drops messages outside of chats: an error is said in the chat as well
	Gap       time.Duration // what comes this soon after the answer to a request is lost while a turn runs

	// Of MCP.

	FillsTexts bool // a form whose last field is an empty text cannot be sent
}

// table has one row for each client that is known.
var table = []Row{
	{
		Name: "agent-shell", Flow: true, Fences: true, Counts: true, Strings: true,
		Test: "adapters/clients.TestFlow adapters/acp.TestOneOptionOfEachKind adapters/acp.TestSwitchesForClientsOfStrings adapters/acp.TestReadsForClientsWithFences adapters/acp.TestTitlesForClientsThatCount",
		Why: "Emacs reads from the pipe when it has drawn what came before. One key stands for each kind of option, and reject_always is not " +
			"shown. A message of the user between prompts is called a bug of the agent. Reads are fenced and changes counted.",
	},
	{
		Name: "CodeCompanion", Flow: true, Test: "adapters/clients.TestFlow adapters/acp.TestOneOptionOfEachKind",
		Why: "Neovim's event loop reads from the pipe between its callbacks. Each kind of option has a key with a label of its own, which the last " +
			"option of the kind gets. What comes between prompts is dropped.",
	},
	{
		Name: "acpx", Flow: true, Names: true, Test: "adapters/clients.TestFlow adapters/acp.TestOptionsByName",
		Why: "The official TypeScript library reads a stream that holds the pipe back. It lists options by their names, and its policies take " +
			"the first of a kind.",
	},
	{
		Name: "zed", Flow: true, Names: true, Prompts: true, Counts: true, Test: "adapters/clients.TestFlow adapters/acp.TestOptionsByName adapters/acp.TestPromptsOfOthers",
		Why: "Its queue has no limit. Options are buttons with their names. A message of the user is shown unless a prompt runs. Changes are counted.",
	},
	{
		Name: "JetBrains", Names: true, Test: "adapters/clients.TestFlow adapters/acp.TestOptionsByName",
		Why: "Options are buttons with their names. How its library queues updates, and what it makes of messages between prompts, is not known.",
	},
	{
		Name: "toad", Flow: true, Prompts: true, Texts: true, Test: "adapters/clients.TestFlow adapters/acp.TestPromptsOfOthers adapters/acp.TestLinksForClientsOfTexts",
		Why: "Its reader is asyncio's, which holds the pipe back. A message of the user is shown whenever it comes. Blocks without a text are dropped.",
	},
	{
		Name: "dragoman", Flow: true, Names: true, Gateway: true, Test: "bridge.TestGatewaysBehindGateways",
		Why: "A gateway in front of this one passes the names on, and looks itself at what its client can show.",
	},
	{
		Name: "emacs", Flow: true, Formats: true, Faultless: true, Rewinds: true, Gap: 15 * time.Millisecond,
		Test: "adapters/clients.TestFlow adapters/eca.TestGapForEmacs adapters/eca.TestConversations",
		Why: "eca-emacs reads from the pipe when it has drawn what came before. It hands messages to Emacs's message, takes every result for " +
			"a success, needs the ids of messages to move between them, and loses what comes in the same read as an answer that it waits for.",
	},
	{
		Name: "eca-cli", Output: true, Test: "adapters/eca.TestOddCalls",
		Why: "It prints a member of toolCalled that today's document does not have.",
	},
	{
		Name: "VsCode", Flow: true, Unshown: true, Test: "adapters/clients.TestFlow adapters/eca.TestConversations",
		Why: "eca-vscode reads with vscode-jsonrpc, whose queue has no limit, and has no case for $/showMessage.",
	},
	{
		Name: "claude-code", Flow: true, Test: "adapters/clients.TestFlow",
		Why: "Claude Code reads with the official TypeScript library, as acpx does.",
	},
	{
		Name: "codex", Flow: true, FillsTexts: true, Test: "adapters/clients.TestFlow adapters/mcp.TestConversations",
		Why: "Codex reads with the official Rust library, which holds the pipe back. Its terminal (0.169) does not send a form that ends " +
			"in an empty text.",
	},
	{
		Name: "opencode", Flow: true, Test: "adapters/clients.TestFlow",
		Why: "opencode reads with the official TypeScript library, as acpx does.",
	},
}

// Of returns the row of a client by the name that it gives; the zero row: it is not known.
func Of(name string) Row {
	for _, r := range table {
		if len(name) < len(r.Name) || !strings.EqualFold(name[:len(r.Name)], r.Name) {
			continue
		}
		next, _ := utf8.DecodeRuneInString(name[len(r.Name):])
		if len(name) == len(r.Name) || !unicode.IsLetter(next) && !unicode.IsDigit(next) {
			return r
		}
	}
	return Row{}
}
