package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"io/fs"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// rule forbids packages to the importers in from. Both are import paths; one that ends in "/..."
// includes packages below it. The packages in except are allowed, and so is, if from ends in
// "/...", the package of a folder above. Indirect imports count, unless direct is set.
type rule struct {
	from      string
	forbidden string
	except    []string
	direct    bool
	why       string
}

const thirdParty = "third party" // packages that are neither ours nor in the standard library

// leaves are the small packages below core that import nothing of ours. Packages without a rule
// that lists each import may use them.
var leaves = []string{
	"dragoman/core/display", "dragoman/core/fileuri", "dragoman/core/glob", "dragoman/core/jsonscan", "dragoman/core/linesearch", "dragoman/core/netguard", "dragoman/core/sse",
}

// inner are the parts of core that no other package imports.
const inner = "dragoman/core/internal/..."

// parts lists the imports that parts of core may have, besides the leaves.
var parts = []string{
	"dragoman/core",
	"dragoman/core/board",
	"dragoman/core/child",
	"dragoman/core/codec",
	"dragoman/core/company",
	"dragoman/core/control",
	"dragoman/core/cursor",
	"dragoman/core/datadir",
	"dragoman/core/delegate",
	"dragoman/core/delegate/asks",
	"dragoman/core/diff",
	"dragoman/core/egress",
	"dragoman/core/fidelity",
	"dragoman/core/files",
	"dragoman/core/fork",
	"dragoman/core/ide",
	"dragoman/core/inference",
	"dragoman/core/notices",
	"dragoman/core/sandbox",
	"dragoman/core/shell",
	"dragoman/core/toolsearch",
	"dragoman/core/web",
	"dragoman/core/workspace",
}

var importRules = []rule{
	{from: "dragoman/core", forbidden: "dragoman/...", except: []string{"dragoman/core"}, why: "core is the vocabulary and imports none of our packages but its own inner parts"},
	{from: "dragoman/core", forbidden: thirdParty, why: "core outlives protocols, libraries and loggers"},
	{from: "dragoman/core/...", forbidden: "dragoman/...", except: append(parts, leaves...), why: "the parts of core know core and few of each other; cmd joins them"},
	{from: "dragoman/core/internal/...", forbidden: "dragoman/...", why: "the inner parts of core know nothing of it, only one another"},
	{from: "dragoman/core/internal/...", forbidden: thirdParty, why: "core outlives protocols, libraries and loggers"},
	{from: "dragoman/core/display", forbidden: "dragoman/...", why: "a text is shown in the same way, whoever wrote it"},
	{from: "dragoman/core/display", forbidden: thirdParty, why: "what can be seen is in the standard library's tables"},
	{from: "dragoman/core/access", forbidden: "dragoman/...", except: []string{"dragoman/core"}, why: "what a client may do depends on no protocol and no file"},
	{from: "dragoman/core/access", forbidden: thirdParty, why: "rights are plain data"},
	{from: "dragoman/core/board", forbidden: "dragoman/...", except: []string{"dragoman/core", "dragoman/core/control", "dragoman/core/inference"}, why: "what clients are shown besides sessions depends on no tool and no protocol"},
	{from: "dragoman/core/board", forbidden: thirdParty, why: "the newest value of each topic is plain data"},
	{from: "dragoman/core/bundle", forbidden: "dragoman/...", except: []string{"dragoman/core", "dragoman/core/codec", "dragoman/core/cursor", "dragoman/core/jsonscan"}, why: "what a file of a session may bring along depends on no store and no disk"},
	{from: "dragoman/core/bundle", forbidden: thirdParty, why: "a file outlives libraries"},
	{from: "dragoman/core/codec", forbidden: "dragoman/...", except: []string{"dragoman/core", "dragoman/core/cursor", "dragoman/core/jsonscan"}, why: "the stored form of events knows events, how JSON is scanned, and nothing else"},
	{from: "dragoman/core/codec", forbidden: thirdParty, why: "what is on users' disks outlives libraries"},
	{from: "dragoman/core/fidelity", forbidden: "dragoman/...", except: []string{"dragoman/core"}, why: "facts are fields of events, whoever carries them"},
	{from: "dragoman/core/fidelity/fidelitytest", forbidden: "dragoman/...", except: []string{"dragoman/core", "dragoman/core/fidelity"}, why: "an encoder is checked as a function"},
	{from: "dragoman/core/fidelity", forbidden: thirdParty, why: "what is lost is plain data"},
	{from: "dragoman/core/inference", forbidden: "dragoman/...", except: []string{"dragoman/core"}, why: "what a model is asked depends on no service and no agent"},
	{from: "dragoman/core/inference", forbidden: thirdParty, why: "requests and answers are plain data"},
	{
		from: "dragoman/core/forms", forbidden: "dragoman/...",
		except: []string{"dragoman/core", "dragoman/core/display", "dragoman/core/jsonscan"},
		why:    "a form is a question of the core's, however it is written; what others wrote into one is scanned and shown",
	},
	{from: "dragoman/core/forms", forbidden: thirdParty, direct: true, why: "a form is a question of the core's, however it is written"},
	{from: "dragoman/core/toolsearch", forbidden: "dragoman/...", except: []string{"dragoman/core", "dragoman/core/inference"}, why: "a search over tools knows tools and nothing else"},
	{from: "dragoman/core/toolsearch", forbidden: thirdParty, why: "a search over tools is plain code"},
	{from: "dragoman/core/limits", forbidden: thirdParty, direct: true, why: "amounts are plain data"},
	{from: "dragoman/core/limits", forbidden: "dragoman/...", except: []string{"dragoman/core", "dragoman/core/datadir"}, why: "what is spent is counted alike, whichever agent spends it"},
	{from: "dragoman/core/fork", forbidden: "dragoman/...", except: []string{"dragoman/core"}, why: "a copy is made of sessions alone"},
	{from: "dragoman/core/fork", forbidden: thirdParty, why: "a copy is made of sessions alone"},
	{from: "dragoman/core/workspace", forbidden: "dragoman/...", except: []string{"dragoman/core"}, why: "what prompts can refer to depends on no disk and no server"},
	{from: "dragoman/core/workspace", forbidden: thirdParty, why: "what prompts can refer to is plain data"},
	{from: "dragoman/core/company", forbidden: "dragoman/...", except: []string{"dragoman/core", "dragoman/core/display"}, why: "a client has one name in every protocol"},
	{from: "dragoman/core/company", forbidden: thirdParty, why: "names are plain data"},
	{from: "dragoman/core/notices", forbidden: "dragoman/...", except: []string{"dragoman/core"}, why: "an event has the same words in every protocol"},
	{from: "dragoman/core/notices", forbidden: thirdParty, why: "words are plain data"},
	{from: "dragoman/core/cursor", forbidden: "dragoman/...", except: []string{"dragoman/core"}, why: "a position is the same text in a log and for every client"},
	{from: "dragoman/core/cursor", forbidden: thirdParty, why: "a position is the same text in a log and for every client"},
	{from: "dragoman/core/commands", forbidden: "dragoman/...", except: append([]string{"dragoman/core", "dragoman/core/control", "dragoman/core/fork", "dragoman/core/inference"}, leaves...), why: "commands know sessions; what else they do is handed in"},
	{from: "dragoman/core/commands", forbidden: thirdParty, why: "commands are plain code"},
	{from: "dragoman/core/llm", forbidden: "dragoman/core/llm/...", except: []string{"dragoman/core/llm"}, why: "models behind a network do without the offline one; cmd joins them"},
	{from: "dragoman/core/llm/offline", forbidden: "dragoman/...", except: append([]string{"dragoman/core", "dragoman/core/inference"}, leaves...), why: "the offline model needs no network, no key and no provider"},
	{from: "dragoman/core/llm/offline", forbidden: thirdParty, why: "the offline model is plain code"},
	{from: "dragoman/core/child", forbidden: "dragoman/...", why: "programs are started and ended in the same way, whatever they are for"},
	{from: "dragoman/core/child", forbidden: thirdParty, direct: true, except: []string{"golang.org/x/sys/..."}, why: "programs are started and ended by the standard library and the system"},
	{
		from: "dragoman/core/sandbox", forbidden: "dragoman/...",
		except: []string{"dragoman/core", "dragoman/core/child", "dragoman/core/datadir", "dragoman/core/files", "dragoman/core/ide", "dragoman/core/display", "dragoman/core/fileuri", "dragoman/core/glob", "dragoman/core/workspace"},
		why:    "programs are confined in the same way, whoever asked for them; what must be protected is in the tables of files",
	},
	{from: "dragoman/core/sandbox", forbidden: thirdParty, direct: true, except: []string{"golang.org/x/sys/...", "golang.org/x/net/bpf/...", "github.com/landlock-lsm/go-landlock/..."}, why: "what confines programs is the system; filters are assembled and Landlock is spoken by libraries"},
	{from: "dragoman/core/egress", forbidden: "dragoman/...", except: append([]string{"dragoman/core", "dragoman/core/netguard"}, leaves...), why: "a way out asks the session's rules and its user, and knows no tool"},
	{from: "dragoman/core/egress", forbidden: thirdParty, why: "a proxy is the standard library and our rules"},
	{from: "dragoman/core/child/piped", forbidden: "dragoman/...", except: []string{"dragoman/core/child", "dragoman/core/display"}, why: "a program on pipes is started, described and ended in the same way, whatever it speaks"},
	{from: "dragoman/core/child/piped", forbidden: thirdParty, direct: true, why: "a program on pipes needs the guard and the standard library"},
	{from: "dragoman/core/datadir", forbidden: "dragoman/...", why: "small files are kept in the same way, whatever is in them"},
	{from: "dragoman/core/datadir", forbidden: thirdParty, direct: true, except: []string{"golang.org/x/sys/..."}, why: "locks are the system's, and JSON the standard library's"},
	{from: "dragoman/core/glob", forbidden: "dragoman/...", why: "a pattern is a pattern, whoever wrote it"},
	{from: "dragoman/core/glob", forbidden: thirdParty, why: "patterns cost what they are long, which no library promises"},
	{from: "dragoman/core/linesearch", forbidden: "dragoman/...", why: "lines of a text match, whoever looks for them"},
	{from: "dragoman/core/linesearch", forbidden: thirdParty, why: "an expression is the standard library's, and what makes it quick is ours"},
	{from: "dragoman/core/control", forbidden: "dragoman/...", except: []string{"dragoman/core"}, why: "what a person does with servers depends on no protocol"},
	{from: "dragoman/core/control", forbidden: thirdParty, why: "actions are plain data"},
	{from: "dragoman/core/delegate", forbidden: "dragoman/...", except: []string{"dragoman/core", "dragoman/core/delegate/asks"}, why: "a task needs sessions, and no tool or model"},
	{from: "dragoman/core/delegate", forbidden: thirdParty, why: "a task is done by sessions alone"},
	{from: "dragoman/core/delegate/asks", forbidden: "dragoman/...", except: []string{"dragoman/core"}, why: "asks are passed on between two sessions, whoever works in them"},
	{from: "dragoman/core/delegate/asks", forbidden: thirdParty, why: "asks are passed on by sessions alone"},
	{from: "dragoman/core/diff", forbidden: "dragoman/...", except: []string{"dragoman/core", "dragoman/core/display"}, why: "a change is described in the same way, whoever makes it"},
	{from: "dragoman/core/diff", forbidden: thirdParty, direct: true, except: []string{"github.com/aymanbagabas/go-udiff"}, why: "texts are compared by one library"},
	{from: "dragoman/core/ide", forbidden: "dragoman/...", except: []string{"dragoman/core", "dragoman/core/display"}, why: "what an editor can be asked depends on no protocol"},
	{from: "dragoman/core/ide", forbidden: thirdParty, why: "calls and replies are plain data"},
	{from: "dragoman/core/fileuri", forbidden: "dragoman/...", why: "a path has the same URI in every protocol"},
	{from: "dragoman/core/fileuri", forbidden: thirdParty, why: "which URI is a file of this machine is the standard library's reading and our rules"},
	{from: "dragoman/core/files", forbidden: "dragoman/...", except: []string{"dragoman/core", "dragoman/core/ide", "dragoman/core/display", "dragoman/core/fileuri", "dragoman/core/glob", "dragoman/core/workspace"}, why: "the way into a workspace knows no tool, no guide and no protocol"},
	{from: "dragoman/core/files", forbidden: thirdParty, direct: true, except: []string{"golang.org/x/sys/..."}, why: "what guards files is the standard library's os.Root, the system and our rules"},
	{from: "dragoman/core/kept", forbidden: "dragoman/...", except: append([]string{"dragoman/core", "dragoman/core/datadir", "dragoman/core/files", "dragoman/core/ide", "dragoman/core/workspace"}, leaves...), why: "an answer is kept for any policy"},
	{from: "dragoman/core/kept", forbidden: thirdParty, direct: true, why: "an answer that is kept is plain data"},
	{from: "dragoman/core/jsonscan", forbidden: "dragoman/...", why: "JSON is scanned in the same way, whatever it says"},
	{from: "dragoman/core/jsonscan", forbidden: thirdParty, why: "messages and logs are scanned by nothing that others change"},
	{from: "dragoman/core/netguard", forbidden: "dragoman/...", why: "an address is as near, whoever connects to it"},
	{from: "dragoman/core/netguard", forbidden: thirdParty, why: "what guards the network is the standard library and our rules"},
	{from: "dragoman/core/web", forbidden: "dragoman/...", except: []string{"dragoman/core/display", "dragoman/core/netguard"}, why: "a page is fetched in the same way, whoever wants it"},
	{from: "dragoman/core/web", forbidden: thirdParty, direct: true, except: []string{"golang.org/x/net/html/..."}, why: "what guards the network is the standard library and our rules; HTML is read by the Go project's tokenizer"},
	{from: "dragoman/core/shell", forbidden: "dragoman/...", except: []string{"dragoman/core/child", "dragoman/core/display"}, why: "a command runs in the same way, whoever asked for it and whoever allowed it"},
	{from: "dragoman/core/shell", forbidden: thirdParty, direct: true, why: "a command needs the guard and the standard library"},
	{from: "dragoman/core/sse", forbidden: "dragoman/...", why: "a stream of events is one, whoever sends it"},
	{from: "dragoman/core/sse", forbidden: thirdParty, why: "what the HTML standard describes needs the standard library alone"},
	{from: "dragoman/core/...", forbidden: "github.com/coder/acp-go-sdk", why: "no protocol SDK in core; adapters translate"},
	{from: "dragoman/core/...", forbidden: "github.com/modelcontextprotocol/go-sdk/...", why: "no protocol SDK in core; adapters translate"},
	onlyIn("github.com/creachadair/jrpc2/...", "no protocol in core, where only processes of the program speak to each other; adapters translate", "dragoman/core/share", "dragoman/adapters/...", "dragoman/bridge/...", "dragoman/e2e/..."),
	{from: "dragoman/core/share", forbidden: "dragoman/...", except: []string{"dragoman/core", "dragoman/core/board", "dragoman/core/child", "dragoman/core/codec", "dragoman/core/control", "dragoman/core/cursor", "dragoman/core/display", "dragoman/core/ide", "dragoman/core/inference", "dragoman/core/jsonscan"}, why: "a command for another process is plain data"},
	{from: "dragoman/core/...", forbidden: "go.uber.org/zap/...", why: "core returns errors and emits events; cmd logs"},

	{from: "dragoman/adapters/wire", forbidden: "dragoman/...", except: []string{"dragoman/core/jsonscan"}, why: "the wire knows bytes, how JSON is scanned and envelopes, no protocol and no session"},
	{from: "dragoman/adapters/wire/wiretest", forbidden: "dragoman/...", except: []string{"dragoman/core", "dragoman/adapters/wire", "dragoman/core/jsonscan"}, why: "a peer that a test plays knows no protocol"},
	{from: "dragoman/adapters/wire/streamable", forbidden: "dragoman/...", except: []string{"dragoman/adapters/wire", "dragoman/core/jsonscan", "dragoman/core/sse", "dragoman/adapters/proto/mcp"}, why: "MCP over HTTP is bytes, envelopes and the protocol's names"},
	{from: "dragoman/adapters/wire/...", forbidden: thirdParty, direct: true, except: []string{"github.com/creachadair/jrpc2/...", "golang.org/x/sys/..."}, why: "the wire knows bytes and envelopes"},
	{from: "dragoman/adapters/proto/...", forbidden: "dragoman/...", why: "protocol structures stand alone, so that adapters and bridge share them"},
	{from: "dragoman/adapters/pump", forbidden: "dragoman/...", except: []string{"dragoman/core", "dragoman/core/company", "dragoman/core/display", "dragoman/adapters/wire"}, why: "what adapters share knows no dialect"},
	{from: "dragoman/adapters/clients", forbidden: "dragoman/...", why: "a table depends on nothing"},
	{from: "dragoman/adapters/gate", forbidden: "dragoman/...", except: []string{"dragoman/core", "dragoman/core/access"}, why: "the front door knows who may come in, and no protocol"},
	{from: "dragoman/adapters/gate", forbidden: thirdParty, direct: true, except: []string{"go.uber.org/zap/..."}, why: "the front door is the standard library's server and our rules"},
	{from: "dragoman/adapters/eca", forbidden: "dragoman/...", except: append(adapterImports("eca"), "dragoman/core/company", "dragoman/core/board", "dragoman/core/fork", "dragoman/core/control", "dragoman/core/forms", "dragoman/core/ide", "dragoman/core/inference", "dragoman/core/child", "dragoman/core/workspace", "dragoman/adapters/eca/refer", "dragoman/adapters/eca/compose", "dragoman/adapters/eca/content", "dragoman/adapters/eca/offer"), why: "an adapter imports core, wire and its own proto, never another adapter, bridge or model"},
	{from: "dragoman/adapters/eca/refer", forbidden: "dragoman/...", except: []string{"dragoman/core", "dragoman/core/fileuri", "dragoman/core/workspace", "dragoman/adapters/wire", "dragoman/core/jsonscan", "dragoman/adapters/proto/eca"}, why: "references are looked up without a connection"},
	{from: "dragoman/adapters/eca/content", forbidden: "dragoman/...", except: []string{"dragoman/core", "dragoman/core/display", "dragoman/core/inference", "dragoman/adapters/proto/eca"}, why: "contents are made from records alone"},
	{from: "dragoman/adapters/eca/offer", forbidden: "dragoman/...", except: []string{"dragoman/core", "dragoman/core/control", "dragoman/core/inference", "dragoman/adapters/proto/eca"}, why: "choices are made from a profile and a session's state alone"},
	{from: "dragoman/adapters/eca/compose", forbidden: "dragoman/...", except: []string{"dragoman/core", "dragoman/core/display", "dragoman/core/inference", "dragoman/adapters/proto/eca"}, why: "a model is asked without a connection"},
	{from: "dragoman/adapters/acp", forbidden: "dragoman/...", except: append(adapterImports("acp"), "dragoman/core/company", "dragoman/core/board", "dragoman/core/control", "dragoman/core/fork", "dragoman/core/forms", "dragoman/core/ide", "dragoman/core/inference"), why: "an adapter imports core, wire and its own proto, never another adapter, bridge or model"},
	{from: "dragoman/adapters/thread", forbidden: "dragoman/...", except: append(adapterImports("acp"), "dragoman/core/files", "dragoman/core/glob", "dragoman/core/ide", "dragoman/core/workspace"), why: "an adapter imports core, wire, the way into a workspace and its own proto, which it shares with acp, never another adapter, bridge or model"},
	{from: "dragoman/adapters/thread", forbidden: thirdParty, direct: true, except: []string{"github.com/creachadair/jrpc2/...", "go.uber.org/zap/..."}, why: "the dialect is older than every library for it"},
	{from: "dragoman/adapters/acp/losses", forbidden: "dragoman/...", except: []string{"dragoman/core", "dragoman/core/fidelity"}, why: "what is lost is a list"},
	{from: "dragoman/adapters/eca/losses", forbidden: "dragoman/...", except: []string{"dragoman/core", "dragoman/core/fidelity"}, why: "what is lost is a list"},
	{from: "dragoman/adapters/mcp/losses", forbidden: "dragoman/...", except: []string{"dragoman/core", "dragoman/core/fidelity"}, why: "what is lost is a list"},
	{from: "dragoman/bridge/agent/losses", forbidden: "dragoman/...", except: []string{"dragoman/core", "dragoman/core/fidelity"}, why: "what is lost is a list"},
	{from: "dragoman/bridge/ecaserver/losses", forbidden: "dragoman/...", except: []string{"dragoman/core", "dragoman/core/fidelity"}, why: "what is lost is a list"},
	{from: "dragoman/adapters/mcp/edge", forbidden: "dragoman/...", except: []string{"dragoman/core", "dragoman/adapters/wire", "dragoman/core/jsonscan", "dragoman/adapters/proto/mcp"}, why: "the edge knows messages, and only which session they name"},
	{from: "dragoman/adapters/mcp/folders", forbidden: "dragoman/...", except: []string{"dragoman/core/fileuri"}, why: "folders are compared for whoever asks"},
	{from: "dragoman/adapters/mcp/loan", forbidden: "dragoman/...", except: []string{"dragoman/core", "dragoman/core/display", "dragoman/core/inference", "dragoman/core/jsonscan", "dragoman/adapters/wire"}, why: "a model is lent to a turn, however the client is connected"},
	{from: "dragoman/adapters/mcp/options", forbidden: "dragoman/...", except: []string{"dragoman/core", "dragoman/core/display"}, why: "options are set for any caller, through core"},
	{from: "dragoman/adapters/mcp/permit", forbidden: "dragoman/...", except: []string{"dragoman/core", "dragoman/core/access", "dragoman/core/jsonscan", "dragoman/core/sse", "dragoman/adapters/wire", "dragoman/adapters/wire/streamable", "dragoman/adapters/proto/mcp"}, why: "rights are checked on messages, before anybody carries them out"},
	{from: "dragoman/adapters/mcp/schema", forbidden: "dragoman/...", except: []string{"dragoman/core", "dragoman/core/display", "dragoman/core/forms", "dragoman/core/jsonscan", "dragoman/adapters/wire", "dragoman/adapters/proto/mcp"}, why: "a schema is written for what is asked, whoever asks"},
	{from: "dragoman/adapters/mcp", forbidden: "dragoman/...", except: append(adapterImports("mcp"), "dragoman/core/company", "dragoman/core/access", "dragoman/core/board", "dragoman/core/cursor", "dragoman/core/control", "dragoman/core/forms", "dragoman/core/inference", "dragoman/core/workspace", "dragoman/adapters/mcp/edge", "dragoman/adapters/mcp/folders", "dragoman/adapters/mcp/loan", "dragoman/adapters/mcp/options", "dragoman/adapters/mcp/permit", "dragoman/adapters/mcp/schema", "dragoman/adapters/wire/streamable"), why: "an adapter imports core, wire and its own proto, never another adapter, bridge or model"},

	{from: "dragoman/adapters", forbidden: "dragoman/core/llm", why: "what compares the dialects needs no model"},
	{from: "dragoman/bridge", forbidden: "dragoman/core/llm", why: "what compares gateways needs no model"},
	{from: "dragoman/bridge/upstream", forbidden: "dragoman/...", except: upstreamImports("dragoman/core/datadir"), why: "upstreams are tools and back ends, unaware of who asked"},
	{from: "dragoman/bridge/upstream", forbidden: thirdParty, direct: true, except: []string{"github.com/creachadair/jrpc2/..."}, why: "servers are spoken to by the wire"},
	{from: "dragoman/bridge/upstream/definition", forbidden: "dragoman/...", except: append([]string{"dragoman/adapters/wire"}, leaves...), why: "repairing a tool needs its JSON alone"},
	{from: "dragoman/bridge/upstream/masks", forbidden: "dragoman/...", except: append([]string{"dragoman/adapters/wire"}, leaves...), why: "hiding secrets needs the texts alone"},
	{from: "dragoman/bridge/upstream/silence", forbidden: "dragoman/...", why: "watching a server for signs of life needs a clock alone"},
	{from: "dragoman/bridge/aggregate", forbidden: "dragoman/...", except: upstreamImports("dragoman/bridge/upstream", "dragoman/core/datadir", "dragoman/core/toolsearch"), why: "an aggregate serves what upstream has, and knows nothing of how relays do"},
	{from: "dragoman/bridge/aggregate", forbidden: thirdParty, direct: true, except: []string{"github.com/creachadair/jrpc2/..."}, why: "clients are spoken to by the wire"},
	{from: "dragoman/bridge/relay", forbidden: "dragoman/...", except: upstreamImports("dragoman/bridge/upstream", "dragoman/core/datadir"), why: "a relay passes on what upstream has, and knows nothing of what an aggregate makes of it"},
	{from: "dragoman/bridge/relay", forbidden: thirdParty, direct: true, except: []string{"github.com/creachadair/jrpc2/..."}, why: "clients are spoken to by the wire"},
	{from: "dragoman/bridge/agent", forbidden: "dragoman/...", except: append([]string{"dragoman/bridge/agent/brief", "dragoman/bridge/agent/elsewhere", "dragoman/bridge/agent/growth", "dragoman/bridge/agent/judge", "dragoman/bridge/agent/known", "dragoman/bridge/agent/launch", "dragoman/bridge/agent/paths", "dragoman/bridge/agent/rawinput", "dragoman/bridge/agent/replay", "dragoman/bridge/agent/signin", "dragoman/bridge/agent/stage", "dragoman/core", "dragoman/core/access", "dragoman/core/child", "dragoman/core/child/piped", "dragoman/core/datadir", "dragoman/core/diff", "dragoman/core/files", "dragoman/core/forms", "dragoman/core/ide", "dragoman/core/inference", "dragoman/core/shell", "dragoman/core/workspace", "dragoman/adapters/gate", "dragoman/adapters/proto/acp", "dragoman/adapters/proto/mcp", "dragoman/adapters/wire", "dragoman/adapters/wire/streamable", "dragoman/bridge/toolserver"}, leaves...), why: "an agent is a back end, unaware of who prompts it"},
	{from: "dragoman/bridge/agent", forbidden: thirdParty, direct: true, except: []string{"github.com/creachadair/jrpc2/..."}, why: "agents are spoken to by the wire"},
	{from: "dragoman/bridge/ecaserver", forbidden: "dragoman/...", except: append([]string{"dragoman/bridge/agent/brief", "dragoman/bridge/agent/elsewhere", "dragoman/bridge/agent/judge", "dragoman/bridge/agent/known", "dragoman/bridge/agent/launch", "dragoman/bridge/agent/paths", "dragoman/bridge/agent/rawinput", "dragoman/core/delegate/asks", "dragoman/bridge/agent/replay", "dragoman/bridge/agent/signin", "dragoman/bridge/agent/stage", "dragoman/bridge/toolserver", "dragoman/core", "dragoman/core/board", "dragoman/core/control", "dragoman/core/access", "dragoman/core/child", "dragoman/core/child/piped", "dragoman/core/datadir", "dragoman/core/diff", "dragoman/core/files", "dragoman/core/ide", "dragoman/core/inference", "dragoman/core/shell", "dragoman/core/workspace", "dragoman/adapters/gate", "dragoman/adapters/proto/eca", "dragoman/adapters/proto/mcp", "dragoman/adapters/wire", "dragoman/adapters/wire/streamable"}, leaves...), why: "a server of another protocol is a back end, unaware of who prompts it, and shares with other agents what is no protocol"},
	{from: "dragoman/bridge/ecaserver", forbidden: thirdParty, direct: true, except: []string{"github.com/creachadair/jrpc2/..."}, why: "servers are spoken to by the wire"},
	{from: "dragoman/bridge/ecaserver/ecatest", forbidden: "dragoman/...", why: "the scripted server is one that others could have written"},
	{from: "dragoman/bridge/ecaserver/ecatest", forbidden: thirdParty, why: "the scripted server is one that others could have written, and no library's reading of the protocol"},
	{from: "dragoman/bridge/toolserver", forbidden: "dragoman/...", except: append([]string{"dragoman/core", "dragoman/core/access", "dragoman/core/ide", "dragoman/core/inference", "dragoman/adapters/gate", "dragoman/adapters/proto/mcp", "dragoman/adapters/wire", "dragoman/adapters/wire/streamable"}, leaves...), why: "an agent is served the tools of a turn, whoever offers them to it; the door is everybody's"},
	{from: "dragoman/bridge/toolserver", forbidden: thirdParty, direct: true, except: []string{"github.com/creachadair/jrpc2/..."}, why: "clients are spoken to by the wire"},
	{from: "dragoman/bridge/login", forbidden: "dragoman/...", except: leaves, why: "a login needs a store and an HTTP client, and nothing of the servers' connections"},
	{from: "dragoman/bridge/login", forbidden: thirdParty, direct: true, except: []string{"github.com/modelcontextprotocol/go-sdk/auth", "github.com/modelcontextprotocol/go-sdk/oauthex"}, why: "of the SDK a login needs the forms and the discovery"},
	{from: "dragoman/bridge/bridgetest", forbidden: "dragoman/...", except: []string{"dragoman/adapters/proto/mcp", "dragoman/core/child/..."}, why: "the servers and clients of the tests know none of the packages that are tested"},
	{from: "dragoman/bridge/agent/growth", forbidden: "dragoman/...", why: "a text grows in the same way, whoever sends it"},
	{from: "dragoman/bridge/agent/known", forbidden: "dragoman/...", why: "a table depends on nothing"},
	{from: "dragoman/bridge/agent/elsewhere", forbidden: "dragoman/...", except: append([]string{"dragoman/core", "dragoman/core/datadir"}, leaves...), why: "lists of agents' sessions are kept, whatever speaks to the agents"},
	{from: "dragoman/bridge/agent/replay", forbidden: "dragoman/...", except: append([]string{"dragoman/bridge/agent/brief", "dragoman/core"}, leaves...), why: "a history is one of events, whoever repeats it"},
	{from: "dragoman/bridge/agent/brief", forbidden: "dragoman/...", except: append([]string{"dragoman/core"}, leaves...), why: "a brief is made from a session's log alone"},
	{from: "dragoman/bridge/agent/paths", forbidden: "dragoman/...", why: "a path is translated whatever it is for"},
	{from: "dragoman/bridge/agent/signin", forbidden: "dragoman/...", except: append([]string{"dragoman/core/datadir"}, leaves...), why: "a way to sign in is the same in every protocol"},
	{from: "dragoman/bridge/agent/stage", forbidden: "dragoman/...", except: append([]string{"dragoman/core"}, leaves...), why: "an event finds its turn in the same way, whatever protocol brought it"},
	{from: "dragoman/bridge/agent/judge", forbidden: "dragoman/...", except: append([]string{"dragoman/bridge/agent/paths", "dragoman/bridge/agent/rawinput", "dragoman/core", "dragoman/core/access", "dragoman/core/child", "dragoman/core/diff", "dragoman/core/files", "dragoman/core/ide", "dragoman/core/shell", "dragoman/core/workspace", "dragoman/adapters/wire"}, leaves...), why: "a call is judged by what it does, whatever protocol described it"},
	{from: "dragoman/bridge/agent/launch", forbidden: "dragoman/...", except: append([]string{"dragoman/bridge/agent/elsewhere", "dragoman/bridge/agent/known", "dragoman/bridge/agent/signin", "dragoman/bridge/toolserver", "dragoman/core", "dragoman/core/access", "dragoman/core/child", "dragoman/core/child/piped", "dragoman/core/datadir", "dragoman/core/ide", "dragoman/core/inference", "dragoman/core/shell", "dragoman/adapters/gate", "dragoman/adapters/proto/mcp", "dragoman/adapters/wire", "dragoman/adapters/wire/streamable"}, leaves...), why: "a program is started whatever protocol it speaks"},
	{from: "dragoman/bridge/agent/rawinput", forbidden: "dragoman/...", except: append([]string{"dragoman/core", "dragoman/core/child", "dragoman/core/shell", "dragoman/adapters/wire"}, leaves...), why: "what an input says depends on nothing else"},
	{from: "dragoman/bridge/agent/agenttest", forbidden: "dragoman/...", why: "the scripted agent is one that others could have written"},
	{from: "dragoman/bridge/agent/agenttest", forbidden: thirdParty, why: "the scripted agent is one that others could have written, and no library's reading of the protocol"},
	{from: "dragoman/bridge/login/logintest", forbidden: "dragoman/...", why: "the authority of the tests is one that others could have written"},

	{from: "dragoman/configs", forbidden: "dragoman/...", except: append([]string{"dragoman/configs/jsonc", "dragoman/core/datadir"}, leaves...), why: "the configuration is data, and a file of it is locked and replaced in the one way; cmd translates it"},
	{from: "dragoman/configs/jsonc", forbidden: "dragoman/...", except: []string{"dragoman/core/jsonscan"}, why: "a text is changed in the same way, whatever it configures"},
	{from: "dragoman/configs/configstest", forbidden: "dragoman/...", except: append([]string{"dragoman/configs", "dragoman/configs/jsonc", "dragoman/core/datadir"}, leaves...), why: "a configuration for tests is one that a file could give"},
	{from: "dragoman/e2e", forbidden: "dragoman/...", why: "the end-to-end tests see the binary from outside"},
	{from: "dragoman/e2e/bench", forbidden: "dragoman/...", why: "what users notice is measured from outside"},
	{from: "dragoman/e2e/models", forbidden: "dragoman/...", except: append([]string{"dragoman/core", "dragoman/core/inference", "dragoman/core/coretest", "dragoman/core/llm"}, leaves...), why: "the suite of models looks at models alone, against a service that others wrote"},
	{from: "dragoman/e2e/conformance", forbidden: "dragoman/...", except: append([]string{"dragoman/adapters/mcp/...", "dragoman/adapters/proto/mcp", "dragoman/adapters/gate", "dragoman/adapters/wire/...", "dragoman/bridge/...", "dragoman/core", "dragoman/core/access", "dragoman/core/board", "dragoman/core/cursor", "dragoman/core/control", "dragoman/core/inference", "dragoman/core/coretest"}, leaves...), why: "the suites look at the adapter and the relay behind the gate, with the fixtures that they want added"},

	{from: "dragoman/...", forbidden: "dragoman/cmd/...", except: []string{"dragoman/cmd/..."}, why: "nothing imports cmd"},
	{from: "dragoman/cmd/internal/demo", forbidden: "dragoman/cmd/...", except: []string{"dragoman/cmd/internal/program", "dragoman/cmd/internal/terminal/..."}, why: "the demo is a client of the program that it starts"},
	{from: "dragoman/cmd/internal/demo", forbidden: "dragoman/adapters/...", except: []string{"dragoman/adapters/wire"}, why: "the demo plays editors, which do not share our code"},
	{from: "dragoman/cmd/internal/demo", forbidden: "dragoman/bridge/...", why: "the demo needs no server"},
	{from: "dragoman/cmd/internal/imports", forbidden: "dragoman/cmd/...", except: []string{"dragoman/cmd/internal/program", "dragoman/cmd/internal/terminal/..."}, why: "what others' settings say depends on no command; who writes ours is passed in"},
	{from: "dragoman/cmd/internal/imports", forbidden: "dragoman/adapters/...", direct: true, why: "settings are files, not messages"},
	{from: "dragoman/cmd/internal/imports", forbidden: "dragoman/bridge/...", why: "reading settings starts no server"},
	{from: "dragoman/cmd/internal/logs", forbidden: "dragoman/cmd/...", why: "what is written down does not depend on who asked for it"},
	{from: "dragoman/cmd/internal/logs", forbidden: "dragoman/adapters/...", direct: true, why: "a log knows no dialect"},
	{from: "dragoman/cmd/internal/program", forbidden: "dragoman/cmd/...", why: "what a run of the program is given depends on no command"},
	{from: "dragoman/cmd/internal/program", forbidden: "dragoman/adapters/...", why: "what a run of the program is given depends on no protocol"},
	{from: "dragoman/cmd/internal/program", forbidden: "dragoman/bridge/...", why: "what a run of the program is given depends on no server"},
	{from: "dragoman/cmd/internal/program/programtest", forbidden: "dragoman/...", why: "a place for tests knows nothing of what is tested there"},
	{from: "dragoman/...", forbidden: "dragoman/cmd/internal/program/programtest", why: "places are for tests"},
	{from: "dragoman/cmd/internal/secrets", forbidden: "dragoman/cmd/...", except: []string{"dragoman/cmd/internal/program"}, why: "what keeps secrets knows nobody who uses them"},
	{from: "dragoman/cmd/internal/secrets", forbidden: "dragoman/adapters/...", why: "what keeps secrets knows no protocol"},
	{from: "dragoman/cmd/internal/secrets", forbidden: "dragoman/bridge/...", why: "what keeps secrets does not read what servers have it keep"},
	{from: "dragoman/cmd/internal/tokens", forbidden: "dragoman/...", except: []string{"dragoman/core", "dragoman/core/access", "dragoman/core/datadir"}, why: "tokens are kept for whoever admits clients"},
	{from: "dragoman/cmd/internal/models", forbidden: "dragoman/cmd/...", except: []string{"dragoman/cmd/internal/secrets", "dragoman/cmd/internal/program"}, why: "models are found for whoever asks"},
	{from: "dragoman/cmd/internal/models", forbidden: "dragoman/adapters/...", why: "models know no protocol of clients"},
	{from: "dragoman/cmd/internal/models", forbidden: "dragoman/bridge/...", why: "models know no servers"},
	{from: "dragoman/cmd/internal/servers", forbidden: "dragoman/cmd/...", except: []string{"dragoman/cmd/internal/program", "dragoman/cmd/internal/secrets", "dragoman/cmd/internal/terminal/...", "dragoman/cmd/internal/logs", "dragoman/cmd/internal/confine"}, why: "servers are kept for sessions and commands, and know neither"},
	{from: "dragoman/cmd/internal/servers", forbidden: "dragoman/core/loop", why: "servers are kept without an agent"},
	{from: "dragoman/cmd/internal/confine", forbidden: "dragoman/cmd/...", except: []string{"dragoman/cmd/internal/program"}, why: "where programs work is said by the configuration, whoever starts them"},
	{from: "dragoman/cmd/internal/confine", forbidden: "dragoman/adapters/...", direct: true, why: "a program is confined in the same way, whatever it speaks"},
	{from: "dragoman/cmd/internal/boot", forbidden: "dragoman/...", why: "it is initialized before all others"},
	{from: "dragoman/cmd/internal/download", forbidden: "dragoman/...", except: []string{"dragoman/core/display", "dragoman/core/netguard"}, why: "a file is fetched in the same way, whatever it is"},
	{from: "dragoman/cmd/internal/registry", forbidden: "dragoman/...", except: []string{"dragoman/cmd/internal/download", "dragoman/core/datadir", "dragoman/core/display", "dragoman/core/netguard"}, why: "a registry is a file; what is in it is installed by others"},
	{from: "dragoman/cmd/internal/integrity", forbidden: "dragoman/...", except: []string{"dragoman/core/datadir", "dragoman/core/display"}, why: "files are compared, whoever starts them"},
	{from: "dragoman/cmd/internal/install", forbidden: "dragoman/cmd/...", except: []string{"dragoman/cmd/internal/download", "dragoman/cmd/internal/integrity", "dragoman/cmd/internal/registry"}, why: "what is installed is configured by others"},
	{from: "dragoman/cmd/internal/install", forbidden: "dragoman/bridge/...", why: "what is installed is not started"},
	{from: "dragoman/cmd/internal/agents", forbidden: "dragoman/cmd/...", except: append([]string{"dragoman/cmd/internal/confine", "dragoman/cmd/internal/program", "dragoman/cmd/internal/secrets", "dragoman/cmd/internal/terminal/..."}, careImports...), why: "external agents are looked at for sessions and commands, and know neither"},
	{from: "dragoman/cmd/internal/agents", forbidden: "dragoman/adapters/...", direct: true, why: "an agent is spoken to by the bridge"},
	{from: "dragoman/cmd/internal/agents", forbidden: "dragoman/core/loop", why: "external agents need no agent of ours"},
	{from: "dragoman/cmd/internal/doctor", forbidden: "dragoman/cmd/...", except: doctorImports, why: "the doctor looks at files and programs, not at what runs"},
	{from: "dragoman/cmd/internal/doctor", forbidden: "dragoman/adapters/...", direct: true, why: "the doctor speaks no protocol"},
	{from: "dragoman/cmd/internal/doctor", forbidden: "dragoman/bridge/upstream", direct: true, why: "the doctor starts no server"},
	{from: "dragoman/cmd/internal/export", forbidden: "dragoman/cmd/...", except: []string{"dragoman/cmd/internal/program", "dragoman/cmd/internal/terminal/..."}, why: "an export is a transcript in a file, whoever asks for it"},
	{from: "dragoman/cmd/internal/export", forbidden: "dragoman/bridge/...", why: "an export needs no server"},
	{from: "dragoman/cmd/internal/keys", forbidden: "dragoman/cmd/...", except: append([]string{"dragoman/cmd/internal/setup"}, setupImports...), why: "keys are given beside what runs"},
	{from: "dragoman/cmd/internal/keys", forbidden: "dragoman/adapters/...", direct: true, why: "a person who gives a key speaks no protocol"},
	{from: "dragoman/cmd/internal/serve", forbidden: "dragoman/cmd/...", except: append([]string{"dragoman/cmd/internal/sessions", "dragoman/cmd/internal/setup", "dragoman/cmd/internal/tokens"}, setupImports...), why: "what is served knows no command"},
	{from: "dragoman/cmd/internal/retention", forbidden: "dragoman/cmd/...", why: "sessions are old for whoever asks"},
	{from: "dragoman/cmd/internal/retention", forbidden: "dragoman/bridge/...", why: "sessions are deleted without servers"},
	{from: "dragoman/cmd/internal/translate", forbidden: "dragoman/cmd/...", except: []string{"dragoman/cmd/internal/program", "dragoman/cmd/internal/retention", "dragoman/cmd/internal/sessions", "dragoman/cmd/internal/terminal/..."}, why: "a session is shown as it is stored, without a configuration"},
	{from: "dragoman/cmd/internal/translate", forbidden: "dragoman/bridge/...", except: []string{"dragoman/bridge/agent/losses", "dragoman/bridge/ecaserver/losses"}, why: "of agents the table needs the lists"},
	{from: "dragoman/cmd/internal/sessions", forbidden: "dragoman/cmd/...", except: []string{"dragoman/cmd/internal/program", "dragoman/cmd/internal/retention", "dragoman/cmd/internal/terminal/..."}, why: "sessions are looked at without a configuration"},
	{from: "dragoman/cmd/internal/answers", forbidden: "dragoman/cmd/...", except: append([]string{"dragoman/cmd/internal/setup"}, setupImports...), why: "rules are tried out as sessions have them"},
	{from: "dragoman/cmd/internal/answers", forbidden: "dragoman/adapters/...", direct: true, why: "rules are the same in every protocol"},
	{from: "dragoman/cmd/internal/sessions", forbidden: "dragoman/bridge/...", why: "sessions are looked at without servers"},
	{from: "dragoman/cmd/internal/setup", forbidden: "dragoman/cmd/...", except: setupImports, why: "profiles are made for whoever runs turns, and know no command"},
	{from: "dragoman/cmd/internal/setup", forbidden: "dragoman/adapters/...", direct: true, except: []string{"dragoman/adapters/acp", "dragoman/adapters/proto/acp"}, why: "profiles know of protocols only where an ACP client may direct providers"},
	{from: "dragoman/cmd/internal/terminal", forbidden: "dragoman/cmd/...", except: []string{"dragoman/cmd/internal/program", "dragoman/cmd/internal/terminal/..."}, why: "who talks at a terminal knows no command"},
	{from: "dragoman/cmd/internal/terminal/columns", forbidden: "dragoman/...", why: "a text is as wide, whoever wrote it"},
	{from: "dragoman/cmd/internal/terminal/columns", forbidden: thirdParty, why: "one table of wide characters is all that the chat needs"},
	{from: "dragoman/cmd/internal/terminal/markdown", forbidden: "dragoman/...", except: []string{"dragoman/cmd/internal/terminal/columns"}, why: "a text is set in the same way, whoever wrote it"},
	{from: "dragoman/cmd/internal/terminal/markdown", forbidden: thirdParty, why: "parsers of whole texts cannot show one that is being written"},
	{from: "dragoman/cmd/internal/terminal/history", forbidden: "dragoman/...", except: []string{"dragoman/core/datadir"}, why: "prompts are kept without a session"},
	{from: "dragoman/cmd/internal/terminal", forbidden: "dragoman/adapters/...", except: []string{"dragoman/adapters/wire"}, why: "a terminal speaks no protocol; the wire alone names standard input and output"},
	{from: "dragoman/cmd/internal/terminal", forbidden: "dragoman/bridge/...", why: "a terminal shows sessions, whatever their tools are"},
	{from: "dragoman/...", forbidden: "dragoman/core/coretest", except: []string{"dragoman/adapters", "dragoman/bridge", "dragoman/e2e/conformance", "dragoman/e2e/models"}, why: "scripted models and memory stores are for tests"},
	{from: "dragoman/...", forbidden: "dragoman/core/fidelity/fidelitytest", why: "encoders are checked in tests"},
	{from: "dragoman/...", forbidden: "dragoman/bridge/bridgetest", why: "servers that do as they are told are for tests"},
	{from: "dragoman/...", forbidden: "dragoman/bridge/login/logintest", except: []string{"dragoman/e2e/conformance"}, why: "an authorization server that everybody trusts is for tests"},
	{from: "dragoman/...", forbidden: "dragoman/configs/configstest", why: "configurations without a file are for tests"},
	{from: "dragoman/...", forbidden: "dragoman/core/child/childtest", except: []string{"dragoman/bridge/bridgetest"}, why: "the machine's list of processes is for tests"},
	onlyIn("dragoman/core/codec", "stores and exports write the stored form, and processes of the program send it to each other; nobody else sees it", "dragoman/core/bundle", "dragoman/core/jsonl", "dragoman/core/share", "dragoman/adapters", "dragoman/bridge", "dragoman/cmd/..."),
	onlyIn("dragoman/core/child", "what neither starts programs nor asks whether one lives does not know how", "dragoman/core/child/piped", "dragoman/core/jsonl", "dragoman/core/share", "dragoman/core/sandbox", "dragoman/core/shell", "dragoman/adapters/eca", "dragoman/core/tools", "dragoman/bridge/...", "dragoman/cmd/..."),
	onlyIn("dragoman/core/child/piped", "only the bridge speaks to programs over their pipes; a run of ours knows the chain that it is in", "dragoman/bridge/...", "dragoman/cmd/internal/program"),
	onlyIn("github.com/zalando/go-keyring", "one package asks the system's keyring", "dragoman/cmd/internal/secrets"),
	onlyIn("dragoman/core/ide", "adapters have editors, tools ask them, and another process may have one; everybody else passes them on", "dragoman/core/files", "dragoman/core/share", "dragoman/core/tools", "dragoman/adapters/eca", "dragoman/adapters/acp", "dragoman/adapters/thread", "dragoman/bridge/ecaserver", "dragoman/bridge/toolserver"),
	onlyIn("dragoman/core/files", "a person's workspace reaches an adapter through the profile's Files (package workspace), which leaves out what is denied; the thread protocol alone opens files itself, and agents of others ask the bridge for them", "dragoman/core/policy", "dragoman/core/sandbox", "dragoman/core/tools", "dragoman/core/guide", "dragoman/adapters/thread", "dragoman/bridge/agent", "dragoman/bridge/agent/judge", "dragoman/bridge/ecaserver", "dragoman/cmd/internal/export", "dragoman/cmd/internal/setup", "dragoman/cmd/internal/answers", "dragoman/core/kept"),
	onlyIn("dragoman/core/netguard", "only who connects to where others point needs to know how near that is", "dragoman/core/web", "dragoman/core/egress", "dragoman/bridge/login", "dragoman/cmd/internal/download"),
	onlyIn("dragoman/core/delegate", "tasks are handed over by a tool, which asks its policy first", "dragoman/core/tools"),
	onlyIn("dragoman/core/sandbox", "tools start commands in a sandbox; everybody else starts them through shell", "dragoman/core/tools", "dragoman/cmd/..."),
	onlyIn("dragoman/core/shell", "commands are run by a tool, or by who asked the same policy for an agent", "dragoman/core/tools", "dragoman/bridge/..."),
	onlyIn("dragoman/core/web", "pages are fetched for a model, or for who refers to one", "dragoman/core/tools"),
	onlyIn("github.com/spf13/cobra", "the command line is cmd's", "dragoman/cmd/dragoman"),
	onlyIn("github.com/goccy/go-yaml/...", "the form of the configuration is configs' own affair", "dragoman/configs"),
	onlyIn("github.com/pelletier/go-toml/v2", "other programs write TOML, and we do not", "dragoman/cmd/internal/imports"),
	onlyIn("github.com/tailscale/hujson", "the form of the configuration is configs' own affair", "dragoman/configs", "dragoman/configs/jsonc"),
	onlyIn("github.com/modelcontextprotocol/go-sdk/mcp", "one protocol, one adapter", "dragoman/adapters/mcp/...", "dragoman/bridge/bridgetest", "dragoman/e2e", "dragoman/e2e/conformance"),
	onlyIn("github.com/modelcontextprotocol/go-sdk/auth", "one package logs in to servers; nobody else does", "dragoman/bridge/login", "dragoman/bridge/login/logintest"),
	onlyIn("github.com/modelcontextprotocol/go-sdk/oauthex", "one package logs in to servers; nobody else does", "dragoman/bridge/login", "dragoman/bridge/login/logintest"),
	onlyIn("golang.org/x/oauth2/...", "tokens are the affair of bridge/login, which asks for them itself"),
}

// careImports, doctorImports and setupImports list the packages below cmd that these packages may import.
var (
	careImports = []string{
		"dragoman/cmd/internal/download", "dragoman/cmd/internal/imports", "dragoman/cmd/internal/install", "dragoman/cmd/internal/integrity", "dragoman/cmd/internal/registry",
	}
	doctorImports = []string{
		"dragoman/cmd/internal/agents", "dragoman/cmd/internal/confine",
		"dragoman/cmd/internal/imports", "dragoman/cmd/internal/logs", "dragoman/cmd/internal/program", "dragoman/cmd/internal/retention", "dragoman/cmd/internal/secrets",
		"dragoman/cmd/internal/terminal/...",
		"dragoman/cmd/internal/download", "dragoman/cmd/internal/install", "dragoman/cmd/internal/integrity", "dragoman/cmd/internal/registry",
	}
	setupImports = append([]string{"dragoman/cmd/internal/doctor", "dragoman/cmd/internal/export", "dragoman/cmd/internal/models", "dragoman/cmd/internal/servers"}, doctorImports...)
)

// upstreamImports lists the imports of the bridge's packages, and more.
func upstreamImports(more ...string) []string {
	return slices.Concat(more, leaves, []string{
		"dragoman/core", "dragoman/core/access", "dragoman/core/board", "dragoman/core/control", "dragoman/core/child", "dragoman/core/child/piped", "dragoman/core/forms", "dragoman/core/inference", "dragoman/bridge/login",
		"dragoman/bridge/upstream/definition", "dragoman/bridge/upstream/masks", "dragoman/bridge/upstream/silence",
		"dragoman/adapters/wire", "dragoman/adapters/wire/streamable", "dragoman/adapters/proto/mcp",
	})
}

func adapterImports(name string) []string {
	return append([]string{"dragoman/core", "dragoman/core/company", "dragoman/core/notices", "dragoman/adapters/clients", "dragoman/adapters/wire", "dragoman/adapters/pump", "dragoman/adapters/proto/" + name}, leaves...)
}

// onlyIn is a rule for all packages except some. except means importers here.
func onlyIn(forbidden, why string, importers ...string) rule {
	return rule{from: "dragoman/...", forbidden: forbidden, direct: true, except: importers, why: why}
}

// listed is the output of go list for a package.
type listed struct {
	ImportPath   string
	Standard     bool
	Imports      []string
	Deps         []string
	TestImports  []string
	XTestImports []string
	Module       *struct{ Path string }
}

func TestImportRules(t *testing.T) {
	all := listPackages(t)
	ruled := map[string]bool{}
	for _, r := range importRules {
		used, exists := false, r.forbidden == thirdParty
		for _, p := range all {
			exists = exists || covers(r.forbidden, p.ImportPath)
			if !ours(p.ImportPath) || !covers(r.from, p.ImportPath) || r.from == r.forbidden {
				continue
			}
			used = true
			if r.from != "dragoman/..." {
				ruled[p.ImportPath] = true
			}
			r.check(t, all, p)
		}
		if !used {
			t.Errorf("no package is called %s any more; the rule against %s (%s) has lost its object", r.from, r.forbidden, r.why)
		}
		if !exists {
			t.Errorf("nothing of ours uses %s any more; the rule for %s (%s) looks at nothing", r.forbidden, r.from, r.why)
		}
	}
	for path := range all {
		if ours(path) && !ruled[path] && path != "dragoman/cmd/dragoman" {
			t.Errorf("%s has no rule; say in importRules what it may import", path)
		}
	}
}

// check fails for each forbidden import of p.
func (r rule) check(t *testing.T, all map[string]listed, p listed) {
	t.Helper()
	imports := p.Deps
	if r.direct {
		imports = p.Imports
	}
	if len(p.Imports) == 0 { // a package with only tests
		imports = slices.Concat(p.TestImports, p.XTestImports)
	}
	importers := r.from == "dragoman/..."
	for _, path := range imports {
		forbidden := covers(r.forbidden, path) && !covers(inner, path) // which come with core; nobody else can import them
		if r.forbidden == thirdParty {
			forbidden = !ours(path) && !all[path].Standard
		}
		who := path
		if importers {
			who = p.ImportPath
		}
		above := strings.HasSuffix(r.from, "/...") && !importers && covers(path+"/...", p.ImportPath) // a folder's package may be imported below the folder
		if forbidden && !above && !slices.ContainsFunc(r.except, func(e string) bool { return covers(e, who) }) {
			t.Errorf("%s imports %s: %s", p.ImportPath, path, r.why)
		}
	}
}

func ours(path string) bool { return path == "dragoman" || strings.HasPrefix(path, "dragoman/") }

// covers reports whether a pattern matches a package.
func covers(pattern, path string) bool {
	below, wide := strings.CutSuffix(pattern, "/...")
	return path == below || wide && strings.HasPrefix(path, below+"/")
}

// listPackages lists our packages and all of their imports, by import path.
func listPackages(t *testing.T) map[string]listed {
	t.Helper()
	// With a profile every package would be listed twice, once for the main package alone.
	cmd := exec.Command("go", "list", "-deps", "-pgo=off", "-json=ImportPath,Standard,Imports,Deps,TestImports,XTestImports,Module", "./...")
	cmd.Dir = "../.."
	out, err := cmd.Output()
	if err != nil {
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			t.Fatalf("go list: %v\n%s", err, exit.Stderr)
		}
		t.Fatal(err)
	}
	all := map[string]listed{}
	for d := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p listed
		switch err := d.Decode(&p); {
		case errors.Is(err, io.EOF):
			return all
		case err != nil:
			t.Fatal(err)
		}
		all[p.ImportPath] = p
	}
}

// Standard output belongs to the protocols: only the command, which knows the protocol, and the
// wire may name it or print to it; besides tests, and bridge/bridgetest, whose programs tests
// start.
func TestStdoutIsNamedByFewOnly(t *testing.T) {
	eachFile(t, func(s source) {
		if s.dir == "adapters/wire" || s.dir == "bridge/bridgetest" || s.dir == "cmd" || strings.HasPrefix(s.dir, "cmd/") {
			return
		}
		ast.Inspect(s.file, func(n ast.Node) bool {
			if name := printsToStdout(n); name != "" {
				t.Errorf("%s: %s: standard output belongs to the protocol that is spoken", s.at(n), name)
			}
			return true
		})
	})
}

// source is a non-test file of ours. Its folder is relative to the module's.
type source struct {
	dir  string
	file *ast.File
	set  *token.FileSet
}

// at returns the position of a node as FILE:LINE.
func (s source) at(n ast.Node) string {
	p := s.set.Position(n.Pos())
	return fmt.Sprintf("%s/%s:%d", s.dir, filepath.Base(p.Filename), p.Line)
}

// eachFile parses all our non-test files, for every system that they are built for.
func eachFile(t *testing.T, look func(source)) {
	t.Helper()
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	files := 0
	err = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch name := d.Name(); {
		case err != nil:
			return err
		case d.IsDir() && (name == "node_modules" || name == "testdata" || strings.HasPrefix(name, ".") && path != root):
			return fs.SkipDir
		case d.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go"):
			return nil
		}
		files++
		dir, err := filepath.Rel(root, filepath.Dir(path))
		if err != nil {
			return err
		}
		s := source{dir: filepath.ToSlash(dir), set: token.NewFileSet()}
		if s.file, err = parser.ParseFile(s.set, path, nil, parser.SkipObjectResolution); err != nil {
			return err
		}
		look(s)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if files < 50 {
		t.Errorf("only %d files were looked at", files)
	}
}

// printsToStdout names an expression that is, or writes to, standard output.
func printsToStdout(n ast.Node) string {
	sel, ok := n.(*ast.SelectorExpr)
	if !ok {
		return ""
	}
	pkg, ok := sel.X.(*ast.Ident)
	if !ok {
		return ""
	}
	switch name := pkg.Name + "." + sel.Sel.Name; name {
	case "os.Stdout", "syscall.Stdout", "fmt.Print", "fmt.Printf", "fmt.Println":
		return name
	}
	return ""
}
