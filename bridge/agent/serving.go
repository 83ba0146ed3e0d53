package agent

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"dragoman/adapters/proto/acp"
	"dragoman/adapters/wire"
	"dragoman/bridge/agent/rawinput"
	"dragoman/bridge/toolserver"
	"dragoman/core"
	"dragoman/core/display"
	"dragoman/core/jsonscan"
)

// mcpServer is an MCP server in a request that opens a session. Members that the protocol requires
// are there even if they are empty.
type mcpServer struct {
	Type    string      `json:"type,omitempty"`
	Name    string      `json:"name"`
	Command string      `json:"command,omitempty"`
	Args    *[]string   `json:"args,omitempty"`
	Env     *[]acp.Pair `json:"env,omitempty"`
	URL     string      `json:"url,omitempty"`
	Headers *[]acp.Pair `json:"headers,omitempty"`
}

func programServer(name, command string, args []string, env []acp.Pair) mcpServer {
	args, env = append([]string{}, args...), append([]acp.Pair{}, env...)
	return mcpServer{Name: name, Command: command, Args: &args, Env: &env}
}

func remoteServer(transport, name, url string, headers map[string]string) mcpServer {
	list := pairs(headers)
	return mcpServer{Type: transport, Name: name, URL: url, Headers: &list}
}

// pairs lists variables or headers by name.
func pairs(m map[string]string) []acp.Pair {
	list := []acp.Pair{}
	for name, value := range m {
		list = append(list, acp.Pair{Name: name, Value: value})
	}
	slices.SortFunc(list, func(a, b acp.Pair) int { return cmp.Compare(a.Name, b.Name) })
	return list
}

// directServers passes on the MCP servers that clients bring along. left has those that the agent
// cannot be given, in words for the user.
func directServers(servers []core.ServerSpec, caps acp.MCPCapabilities) (list []mcpServer, left []string) {
	list = []mcpServer{}
	for _, s := range servers {
		switch {
		case s.URL == "":
			var env []acp.Pair
			for _, kv := range s.Env {
				name, value, _ := strings.Cut(kv, "=")
				env = append(env, acp.Pair{Name: name, Value: value})
			}
			list = append(list, programServer(s.Name, s.Command, s.Args, env))
		case s.SSE && caps.SSE:
			list = append(list, remoteServer(acp.ServerSSE, s.Name, s.URL, s.Headers))
		case !s.SSE && caps.HTTP:
			list = append(list, remoteServer(acp.ServerHTTP, s.Name, s.URL, s.Headers))
		default:
			transport := "HTTP"
			if s.SSE {
				transport = "HTTP with SSE"
			}
			left = append(left, fmt.Sprintf(
				"it is not given the MCP server %s, because it takes none over %s; without \"mcp: direct\" it gets the server's tools from dragoman",
				display.Word(s.Name), transport))
		}
	}
	return list, left
}

// serving is the MCP server with the tools of a session for the agent that runs it.
type serving struct{ toolserver.Serving }

// offer makes a server for a program of the agent. brought are the servers of clients. http says that the
// program can use an address of this machine; at is another one for it, as in launch.Confined.
func (s *serving) offer(pool *toolserver.Pool, brought []core.ServerSpec, http bool, at string) (mcpServer, error) {
	server, name, err := s.Start(pool, toolserver.Name, brought, at)
	if err != nil {
		return mcpServer{}, err
	}
	if http {
		url, headers := server.HTTP()
		return remoteServer(acp.ServerHTTP, name, url, headers), nil
	}
	command, args, env := server.Stdio()
	return programServer(name, command, args, pairs(env)), nil
}

// owns reports whether a call that the agent describes is one of our server, which asks about it
// itself and has it in the log. names are all that the agent calls it. A call that is described as
// anything else besides, such as a command or a change of files, is not ours.
func (s *serving) owns(kind acp.ToolKind, args json.RawMessage, names ...string) bool {
	server, _ := s.Server()
	args = bytes.TrimSpace(args)
	if server == nil || rawinput.Says(args) && args[0] != '{' {
		return false
	}
	for _, name := range names {
		if spec, ok := server.Find(name); ok {
			members := wire.Object(args)
			if server.Owns(jsonscan.Text(members["server"]) + "/" + jsonscan.Text(members["tool"])) { // Codex, which says "execute" of each
				return rawinput.Only(members, "server", "tool", "arguments")
			}
			if params := codexParams(members); params != nil {
				members = params
			}
			return (kind == "" || kind == acp.ToolKind(core.KindOther)) && fits(members, spec)
		}
	}
	return false
}

// fits reports whether an object can be the arguments of a tool. Where the tool's schema names none,
// it must not have those by which agents' own tools run commands, touch files or fetch.
func fits(members map[string]json.RawMessage, spec core.Spec) bool {
	var schema struct {
		Properties map[string]json.RawMessage `json:"properties"`
	}
	if json.Unmarshal(spec.Schema, &schema) == nil && schema.Properties != nil {
		return rawinput.Only(members, slices.Collect(maps.Keys(schema.Properties))...)
	}
	return !slices.ContainsFunc(rawinput.Effects(), func(name string) bool { return members[name] != nil })
}

// codexParams returns the arguments of a call of an MCP tool in the form in which Codex 0.16 asks for
// the permission to make it; nil: it is another form.
func codexParams(members map[string]json.RawMessage) map[string]json.RawMessage {
	if members["server_name"] == nil || !rawinput.Only(members, "turn_id", "server_name", "id", "request", "started_at_ms") {
		return nil
	}
	meta := wire.Object(wire.Object(members["request"])["_meta"])
	if jsonscan.Text(meta["codex_approval_kind"]) != "mcp_tool_call" || meta["tool_params"] == nil {
		return nil
	}
	return wire.Object(meta["tool_params"])
}
