package configs

import "time"

// Config is one layer of settings, or several merged into one. The zero value
// is a layer that sets nothing.
type Config struct {
	Schema     string               `yaml:"$schema" doc:"Address of this schema, for editors. It has no effect."`
	Model      string               `yaml:"model" workspace:"yes" doc:"The model to use, as PROVIDER/MODEL, for example openrouter/anthropic/claude-sonnet-4.6. Left out: the first known provider whose key is found, with its default model; without any key, the offline demo model offline/demo."`
	Fallback   []string             `yaml:"fallback" aka:"fallbacks,fallback_models" doc:"Models to try in this order when the chosen one cannot answer: its service is down, overloaded or unreachable, or rejects the key. Never in the middle of an answer, and never without a notice."`
	Providers  map[string]Provider  `yaml:"providers" aka:"provider" names:"name" doc:"Where models are reached, by a name of your choice. A known name (openai, openrouter, anthropic, gemini, groq, deepseek, mistral, ollama, lmstudio) needs an entry only for what differs from its defaults."`
	MCPServers map[string]MCPServer `yaml:"mcp_servers" names:"name" doc:"MCP servers whose tools the agent may use, by a name of your choice. Each is started as a program (command) or reached over HTTP (url)."`
	Agents     map[string]Agent     `yaml:"agents" aka:"agent" names:"name" workspace:"yes" doc:"Agents by name: those that a person can choose, and those to which other agents delegate tasks. An entry with acp or eca is an external agent: a program such as Claude or Codex. An entry named code, plan, explorer or general changes the built-in agent."`

	DefaultAgent string `yaml:"default_agent" doc:"The agent of a session for which nobody chooses one: the name of an entry of agents that people can choose, or of a built-in agent. Left out: code."`

	Policy   Policy   `yaml:"policy" aka:"permissions,permission,approvals" workspace:"yes" doc:"Which tool calls run at once, which ask a person first, and which never run. Of the rules that match a call deny wins over ask, and ask over allow."`
	MCP      MCP      `yaml:"mcp" doc:"How dragoman behaves as an MCP server."`
	Limits   Limits   `yaml:"limits" doc:"Limits of a turn, and the point at which a conversation is summarized."`
	Sessions Sessions `yaml:"sessions" aka:"session,retention" doc:"What happens to stored sessions that nobody uses any more. A program that serves an editor looks at them once a day; dragoman doctor and dragoman sessions prune --dry-run tell what is next. A session that is open somewhere is left alone, and the sessions of tasks go with theirs."`
	Log      Log      `yaml:"log" aka:"logging" doc:"The program's own log. It holds no prompt text and no secrets at the default level."`

	// Source is the file that was read, empty if there was none.
	Source string
	// ServersFile is the mcp.json that was read, empty if there was none.
	ServersFile string
	// Unusable are the invalid servers of mcp.json, by name. They affect no other server.
	Unusable map[string]UnusableServer
	// AgentsFile is the agents.json that was read, empty if there was none.
	AgentsFile string
	// UnusableAgents are the invalid agents of agents.json, by name. They affect no other agent.
	UnusableAgents map[string]UnusableAgent
	// Warnings are for a person; they do not make the configuration invalid.
	Warnings []Problem

	where  map[string]Position // key → where a file wrote it
	bad    map[string]bool     // keys whose value could not be decoded
	shared map[string]bool     // files that other users can read
	noted  []Problem           // warnings that later merges keep

	disabled map[string]Position // servers that mcp.json disables by name
}

// Provider is a provider of models. Config.Provider returns it with the defaults of a known name
// filled in.
type Provider struct {
	Kind    string            `yaml:"kind" aka:"type,api" enum:"KINDS" doc:"Wire format: openai-chat is the OpenAI chat completions format, which most servers offer; openai-responses, anthropic and ollama are those of these services alone; azure is Azure OpenAI, with base_url RESOURCE/openai/v1; replay plays the turns of a file; mcp-sampling asks the model of the MCP client that drives the session (the model's name is a hint to it, any is none); those behind langchain/ take and give only text, so an agent has no tools there. Left out: that of a known name, else openai-chat."`
	BaseURL URL               `yaml:"base_url" aka:"url,endpoint,api_base" doc:"Address that /chat/completions is appended to, for example http://localhost:8080/v1. Needed for a name that is not known."`
	APIKey  Secret            `yaml:"api_key" aka:"key,token" doc:"The key, best as a reference: ${env:NAME} takes it from an environment variable, ${file:PATH} from a file, ${cmd:PROGRAM ARGUMENTS} from the first line that a program prints, such as ${cmd:pass show openrouter}; it is run when a model is asked, without a shell, for at most 30 seconds. Left out: the variable of the known provider. Written out here, keep this file readable by you alone (chmod 600)."`
	Headers map[string]Secret `yaml:"headers" names:"header" doc:"HTTP headers sent with every request, by name."`

	MaxConcurrent     int `yaml:"max_concurrent" aka:"concurrency,max_parallel" min:"0" max:"10000" doc:"How many requests to this provider may run at once; further ones wait, visibly, and can be cancelled. 0: any number."`
	RequestsPerMinute int `yaml:"requests_per_minute" aka:"rpm,rate_limit" min:"0" max:"100000" doc:"How many requests to this provider may be sent within a minute; further ones wait. 0: any number. Limits that the provider itself reports are always respected."`

	Options map[string]Secret `yaml:"options" names:"option" doc:"What some kinds want besides: account_id (langchain/cloudflare), secret_key (langchain/ernie), inference_provider (langchain/huggingface), file (replay: the file to play). With record, a file, each answer of the provider is written down there as replay plays it, without keys."`

	Models map[string]ModelEntry `yaml:"models" aka:"model" names:"model" doc:"What is known of models of this provider, by the names that it has for them: of those that the catalogue (dragoman models list --all) does not have, or has wrongly. They are offered to choose from. Those that a server at a base_url of yours, or a local ollama or lmstudio, lists by itself need not be written here: it is asked for its list once a day, and what stands here counts more."`

	place placement // by Direct and Without
}

// ModelEntry adds or corrects properties of a model in the catalogue.
type ModelEntry struct {
	Name          string   `yaml:"name" aka:"label,title" doc:"Its name as people write it."`
	ContextWindow int      `yaml:"context_window" aka:"window,context,context_length,max_input_tokens" min:"0" max:"1000000000" doc:"How many tokens it can be shown; a conversation is summed up before it is full. 0, or left out: as the catalogue has it."`
	MaxOutput     int      `yaml:"max_output" aka:"max_tokens,max_output_tokens,max_completion_tokens" min:"0" max:"1000000000" doc:"How many tokens an answer may have. 0, or left out: as the catalogue has it."`
	Can           []string `yaml:"can" aka:"capabilities,abilities,modalities,supports" enum:"text,tools,images,thinks" doc:"What it can: call tools, look at images, think; text says that it can nothing else. Left out: as the catalogue has it, else tools and images."`
	Efforts       []string `yaml:"efforts" aka:"effort,reasoning_efforts,variants" doc:"The names of how hard it can be told to think, such as low, medium and high; they imply that it thinks. Left out: as the catalogue has it."`
	Price         Price    `yaml:"price" aka:"cost,prices,pricing" doc:"What a million tokens cost, in US dollars. Left out: as the catalogue has it, else unknown."`
	Free          bool     `yaml:"free" default:"false" doc:"Whether it is free, as a model on your own machine."`
}

// Price is the price of a million tokens, in US dollars.
type Price struct {
	Input      float64 `yaml:"input" aka:"in,prompt" doc:"Of the tokens that it is shown."`
	Output     float64 `yaml:"output" aka:"out,completion" doc:"Of the tokens that it answers."`
	CacheRead  float64 `yaml:"cache_read" aka:"cached,cached_input" doc:"Of what it is shown and had kept. Left out, it costs what input says."`
	CacheWrite float64 `yaml:"cache_write" doc:"Of what it is shown and keeps. Left out, it costs what input says."`
}

// MCPServer is an upstream MCP server: a program or an address.
type MCPServer struct {
	_ struct{} `oneof:"command,url"`

	Command Value             `yaml:"command" aka:"cmd" doc:"Program to start; it speaks MCP on its standard input and output."`
	Args    []Value           `yaml:"args" aka:"arguments" doc:"Arguments of the program. They are shown in full by config show; give secrets through env."`
	Env     map[string]Secret `yaml:"env" aka:"environment" names:"variable" doc:"Environment variables of the program, by name, added to a small safe set."`
	URL     URL               `yaml:"url" aka:"base_url,endpoint" doc:"Address of a server reached over HTTP."`
	Headers map[string]Secret `yaml:"headers" names:"header" doc:"HTTP headers sent with every request, by name. With an Authorization among them nobody logs in."`
	OAuth   OAuth             `yaml:"oauth" aka:"auth,oauth2" doc:"How to log in to a url (dragoman mcp-servers login NAME). Mostly the server says all of it, and this is left out."`

	Dir          Value         `yaml:"dir" aka:"cwd" doc:"Folder in which the program is started; ~/ is your home, a relative path starts at this file's folder. Left out: the session's folder."`
	Transport    string        `yaml:"transport" aka:"type" enum:"http,sse" default:"http" doc:"The transport of a url: http is Streamable HTTP, sse the older HTTP with SSE."`
	Sandbox      string        `yaml:"sandbox" enum:"off,workspace,network" default:"off" doc:"How far the program is confined: off lets it do all that you may; workspace confines it like commands, to the session's folders and to hosts that are allowed; network is the same with the network open. Where programs cannot be confined it is then not started."`
	Write        []Value       `yaml:"write" doc:"Files and folders that a confined program keeps for itself: it may change them, and read them if they hold keys. They must exist; ~/ is your home."`
	Disabled     bool          `yaml:"disabled" default:"false" doc:"Whether the server is disabled: it is not started, and its tools are not offered."`
	Start        string        `yaml:"start" enum:"auto,session" default:"auto" doc:"When the server is started: auto starts it as soon as an ECA editor has connected, otherwise when a session first needs its tools, and again for a session that calls it; session starts it with every session and not before."`
	Tools        []string      `yaml:"tools" aka:"allow_tools,include_tools" pattern:"text" doc:"Names of the tools that are offered; * is any text. Left out: all of them."`
	WithoutTools []string      `yaml:"without_tools" aka:"deny_tools,exclude_tools,disabled_tools" pattern:"text" doc:"Names of tools that are not offered, even if tools lists them; * is any text."`
	StartTimeout time.Duration `yaml:"start_timeout" default:"1m" min:"1s" doc:"How long the server may take until its tools are known."`
	CallTimeout  time.Duration `yaml:"call_timeout" aka:"timeout" default:"10m" min:"1s" doc:"How long a call may run without a sign of life before it is cancelled. Progress is one, and so is a question that waits for you."`
}

// Confined reports whether the server's program runs in a sandbox.
func (s MCPServer) Confined() bool { return s.Sandbox != "" && s.Sandbox != SandboxOff }

// Values of sandbox for programs that are not commands.
const (
	SandboxOff     = "off"     // as the user
	SandboxNetwork = "network" // with the network open
)

// OAuth has settings for the login to a server that the server itself does not provide.
type OAuth struct {
	ClientID     Value    `yaml:"client_id" doc:"The client that you have registered at the authorization server, for one that registers none by itself. Its redirect address is http://127.0.0.1:PORT/callback."`
	ClientSecret Secret   `yaml:"client_secret" doc:"The secret of that client, where it has one."`
	Issuer       URL      `yaml:"issuer" doc:"The authorization server that the client belongs to; another one is not shown the secret. Left out: the one that the server names at the first login."`
	Scopes       []string `yaml:"scopes" aka:"scope" doc:"The rights to ask for. Left out: those that the server names."`
	RedirectPort int      `yaml:"redirect_port" aka:"port,callback_port" min:"0" max:"65535" doc:"The port of this machine that the browser comes back to; 0: any that is free."`
}

// IsZero reports whether nothing is set.
func (o OAuth) IsZero() bool {
	return o.ClientID.IsZero() && o.ClientSecret.IsZero() && o.Issuer.IsZero() && len(o.Scopes) == 0 &&
		o.RedirectPort == 0
}

// Policy decides about tool calls.
type Policy struct {
	Allow      []Rule        `yaml:"allow" doc:"Calls that run without approval. A rule without path allows nothing outside of the workspace."`
	Ask        []Rule        `yaml:"ask" workspace:"yes" doc:"Calls that a person is asked about, every time."`
	Deny       []Rule        `yaml:"deny" workspace:"yes" doc:"Calls that never run."`
	Env        []string      `yaml:"env" aka:"environment" doc:"Environment variables that commands get from dragoman's environment, besides the harmless ones (PATH, HOME, LANG, the locations of toolchains); a * at the end matches any text. Keys, and what gives access to them, are not passed unless named here: add SSH_AUTH_SOCK if commands are to use your SSH agent, HTTPS_PROXY if they need a proxy's password. MCP servers have their own env."`
	Default    string        `yaml:"default" enum:"ask,deny,allow" default:"ask" doc:"What happens to a call that no rule matches. Reading and searching inside the workspace are always allowed."`
	Unattended string        `yaml:"unattended" enum:"sandbox,anywhere" default:"sandbox" doc:"Where commands run that nobody looks at (default: allow, approvals that are given automatically, programs allowed for a session): sandbox runs them only where they are confined, and asks about the others; anywhere runs them with all of your rights, for machines that can be thrown away."`
	Terminal   string        `yaml:"terminal" enum:"sandbox,editor" default:"sandbox" doc:"Where commands run if your editor has terminals: in dragoman's sandbox, or in the editor's terminal, which is outside of every sandbox. Without a sandbox they run in the editor's terminal."`
	Sandbox    string        `yaml:"sandbox" enum:"full,files,none" default:"full" doc:"How far commands are confined at most. full: files, processes and network; files: only files and the network; none: they run as you. The system may allow less; dragoman doctor tells."`
	Write      []Value       `yaml:"write" doc:"Folders and files outside of the workspace that commands in the sandbox may change; ~/ is your home, a relative path starts at this file's folder."`
	AskTimeout time.Duration `yaml:"ask_timeout" default:"1h" min:"1s" doc:"How long a question waits for a person before the answer is no."`
}

// Rule matches a tool call if all of its fields match.
type Rule struct {
	_ struct{} `anyof:"tool,server,path,command,url,agent,client,workspace"`

	Tool    string `yaml:"tool" aka:"name" pattern:"text" workspace:"yes" doc:"Name of the tool; * is any text. Left out: any tool."`
	Server  string `yaml:"server" pattern:"text" workspace:"yes" doc:"Where the tool comes from: native for dragoman's own, else the name of an MCP server; * is any text. Left out: anywhere; where allow names one of dragoman's own tools, that one alone."`
	Path    string `yaml:"path" aka:"file,files,paths" pattern:"path" workspace:"yes" doc:"Glob over the paths that a call touches; ** is any number of folders. Without a slash it matches a name at any depth; ~/ is your home; what matches a folder covers what is in it."`
	Command string `yaml:"command" aka:"cmd" pattern:"text" workspace:"yes" doc:"Pattern for each command of a shell command line; * is any text, and \"git *\" matches git alone as well."`
	URL     string `yaml:"url" aka:"host" workspace:"yes" doc:"Address a call reaches, as [SCHEME://]HOST[:PORT][/PATH]; the host may be * or begin with *."`

	Agent     string `yaml:"agent" pattern:"text" workspace:"yes" doc:"Agent that makes the call; * is any text. Left out: any agent."`
	Client    string `yaml:"client" pattern:"text" workspace:"yes" doc:"Name of the client that prompted the turn, such as Zed; * is any text. Clients choose their names themselves, so use it to forbid rather than to allow. Left out: any client."`
	Workspace string `yaml:"workspace" aka:"folder,cwd" pattern:"path" workspace:"yes" doc:"Glob over the folder of the session, as for path: what matches a folder covers the folders in it. Deny and ask apply if one of the session's folders matches, allow if all of them do. Left out: any folder."`
}

// MCP holds the settings of our own MCP server.
type MCP struct {
	AllowAuto          bool          `yaml:"allow_auto" default:"false" doc:"Whether an MCP client may ask for a turn whose tool calls are approved by themselves (approvals: auto), and set options of an external agent that may change what it asks about."`
	ModelAnswers       string        `yaml:"model_answers" enum:"none,soft" doc:"What an MCP client's model may allow with agent_approve after asking its user: soft allows what is asked about by default, none allows nothing. It can never allow what only a person may allow (control files, ask rules), nor anything while the client itself is asking its user; it can always reject. Left out: soft, or none over HTTP."`
	Workspaces         []Value       `yaml:"workspaces" aka:"roots" doc:"Folders in which sessions of MCP clients may work; ~/ is your home, a relative path starts at this file's folder. Flags (--root) win. Left out: what the client names, else the folder that dragoman was started in."`
	ElicitationTimeout time.Duration `yaml:"elicitation_timeout" default:"10m" min:"1s" doc:"How long a question put to the MCP client's user waits before the answer is no."`
	Servers            []string      `yaml:"servers" pattern:"text" doc:"Names of the MCP servers whose own tools, prompts and resources MCP clients get besides the agent; * is any text, an empty list none. Left out: all of them."`
	Prefix             string        `yaml:"prefix" enum:"collision,never,always" default:"collision" doc:"When the names of these tools and prompts begin with their server's, as SERVER__NAME: collision where several have the same name, always, or never: then the first server counts, by name, and others' tools of that name are left out."`
	Tools              int           `yaml:"tools" default:"0" min:"0" max:"100000" doc:"How many tools an MCP client is shown. Of more it is shown the agent's, and two by which it finds and calls the others (tool_search, call_tool); every tool can still be called by its name. 0: all of them."`
}

// Limits limits a turn, what is spent, the part of the conversation that a model gets, and the programs of agents.
type Limits struct {
	Agents          int         `yaml:"agents" aka:"max_agents,processes" default:"8" min:"1" max:"1000" doc:"How many programs of external agents (agents.NAME.acp or eca) run at once, all sessions together. The one that has been idle longest makes room for another; where none is idle, a new session waits."`
	MaxTurnRequests int         `yaml:"max_turn_requests" default:"200" min:"1" max:"100000" doc:"How many times a turn may call the model before it is stopped."`
	Cost            CostLimits  `yaml:"cost" aka:"budget,dollars,max_cost" workspace:"yes" doc:"What models and agents may cost, in US dollars. At a limit the turn pauses and asks whether it goes on by as much again; where nobody can be asked it ends. Workspaces and editors can only lower a limit."`
	Tokens          TokenLimits `yaml:"tokens" aka:"max_tokens,token_budget" workspace:"yes" doc:"How many tokens models and agents may take, as for cost."`
	Unknown         string      `yaml:"unknown" enum:"ask,allow" default:"ask" doc:"What happens where a limit cannot be kept, because the price of a model or the figures of an agent are unknown: ask asks once in each session whether it goes on without, and refuses where nobody can be asked; allow goes on."`
	Tools           int         `yaml:"tools" aka:"max_tools,tool_limit" default:"100" min:"0" max:"100000" doc:"How many tools a model is shown at once. Where there are more, it is shown dragoman's own and two with which it finds (tool_search) and calls (call_tool) those of MCP servers; 0: all are shown, however many."`
	CompactAt       int         `yaml:"compact_at" aka:"compaction,auto_compact" default:"75" min:"10" max:"100" doc:"How full the model's context window may get, in percent, before the conversation so far is replaced by a summary, for the model only; 100: never without /compact."`
}

// CostLimits limit what models cost, in US dollars. 0: no limit.
type CostLimits struct {
	Turn    float64 `yaml:"turn" aka:"prompt" lowers:"yes" workspace:"yes" doc:"What one turn may cost, with the tasks that it delegates and its summaries. 0: no limit."`
	Session float64 `yaml:"session" aka:"chat" lowers:"yes" workspace:"yes" doc:"What a session may cost. A fork begins with what the copied part has cost. 0: no limit."`
	Day     float64 `yaml:"day" aka:"daily,per_day" lowers:"yes" workspace:"yes" doc:"What all sessions of the data folder may cost in a day, by the local clock. 0: no limit."`
}

// TokenLimits limit the tokens that models are sent and send. 0: no limit.
type TokenLimits struct {
	Turn    int `yaml:"turn" aka:"prompt" min:"0" max:"1000000000000" lowers:"yes" workspace:"yes" doc:"How many tokens one turn may take, sent and received, with the tasks that it delegates and its summaries. 0: no limit."`
	Session int `yaml:"session" aka:"chat" min:"0" max:"1000000000000" lowers:"yes" workspace:"yes" doc:"How many tokens a session may take. 0: no limit."`
	Day     int `yaml:"day" aka:"daily,per_day" min:"0" max:"1000000000000" lowers:"yes" workspace:"yes" doc:"How many tokens all sessions of the data folder may take in a day, by the local clock. 0: no limit."`
}

// IsZero reports whether there is no limit.
func (l CostLimits) IsZero() bool { return l == CostLimits{} }

// IsZero reports whether there is no limit.
func (l TokenLimits) IsZero() bool { return l == TokenLimits{} }

// Sessions decides about stored sessions by their last use.
type Sessions struct {
	ArchiveAfter time.Duration `yaml:"archive_after" aka:"archive" default:"0s" min:"0s" doc:"After how long without use a session is archived: lists leave it out, and a new prompt brings it back. At least 1d. 0s: never."`
	DeleteAfter  time.Duration `yaml:"delete_after" aka:"delete,keep,max_age" default:"0s" min:"0s" doc:"After how long without use a session is removed permanently, archived or not. At least 1d. 0s: never."`
}

// Log configures the program's log.
type Log struct {
	Level string `yaml:"level" enum:"debug,info,warn,error" default:"warn" doc:"The least severe message that is written."`
	File  Value  `yaml:"file" aka:"path" empty:"ok" doc:"File the log is appended to; ~/ is your home, a relative path starts at this file's folder. Left out: standard error."`
}
