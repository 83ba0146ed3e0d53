// Package known has what is known about the agents of others: what their programs need from us.
package known

import (
	"path/filepath"
	"slices"
	"strings"
	"sync"
)

// Agent is an entry of the table.
type Agent struct {
	ID       string   // in the registry of agents
	programs []string // names of its program, without the extension
	// Env lists the variables by which it finds its credentials, endpoints and settings, besides
	// Common, written like child.Safe.
	Env []string
	// NoFiles: it fails when the client offers to read and write files. Its write_file asks for
	// every new file first, and takes no form of error for "there is no such file".
	NoFiles bool
	// NoServers: it takes no MCP servers from an editor of the Editor Code Assistant protocol, and complains.
	NoServers bool
	// Own lists what it keeps in the home folder, for when it runs in a sandbox: its login, its
	// settings and its sessions.
	Own []string
	// Bare are arguments that switch off a sandbox of its own, which cannot be made in ours.
	Bare []string
	// NoUpdate are the variables that keep it from replacing itself by another version.
	NoUpdate map[string]string
	// Hint is advice for people when it does not start.
	Hint string
}

// Barred are never passed on: they make an agent believe that it runs within another one, or connect it
// to the editor in whose terminal we were started, or name open files of the process that they were
// meant for.
var Barred = []string{
	"CLAUDECODE", "CLAUDE_CODE_ENTRYPOINT", "CLAUDE_CODE_SSE_PORT", "CLAUDE_CODE_SESSION_ID", "CLAUDE_CODE_CHILD_SESSION", "CLAUDE_BG_*",
	"CLAUDE_CODE_API_KEY_FILE_DESCRIPTOR", "CLAUDE_CODE_OAUTH_TOKEN_FILE_DESCRIPTOR", "CLAUDE_CODE_WEBSOCKET_AUTH_FILE_DESCRIPTOR",
	"CODEX_THREAD_ID", "GEMINI_CLI", "GEMINI_CLI_IDE_*", "QWEN_CODE", "QWEN_CODE_IDE_*", "OPENCODE", "OPENCODE_PID", "OPENCODE_EDITOR_SSE_PORT",
	"PI_CODING_AGENT", "PI_SESSION_*", "AI_AGENT",
}

// Variables that several agents read.
var (
	// Common are for every agent: how Node finds certificates and proxies, and whether there is a
	// browser to log in with.
	Common = []string{
		"NODE_USE_SYSTEM_CA", "NODE_USE_ENV_PROXY", "NODE_TLS_REJECT_UNAUTHORIZED",
		"BROWSER", "NO_BROWSER", "SSH_CLIENT", "SSH_CONNECTION", "SSH_TTY",
	}
	// vertex are for the models of Google Cloud, with the login of gcloud or of a service.
	vertex = []string{
		"GOOGLE_APPLICATION_CREDENTIALS", "GOOGLE_CLOUD_*", "GOOGLE_EXTERNAL_ACCOUNT_ALLOW_EXECUTABLES", "GCLOUD_PROJECT", "CLOUDSDK_CONFIG",
		"CLOUDSDK_CORE_PROJECT", "CLOUDSDK_ACTIVE_CONFIG_NAME", "GCE_METADATA_HOST", "GCE_METADATA_IP", "METADATA_SERVER_DETECTION",
	}
	// entra is a login to Azure; the keys of its OpenAI models have other names.
	entra = []string{
		"AZURE_CLIENT_*", "AZURE_TENANT_ID", "AZURE_USERNAME", "AZURE_PASSWORD", "AZURE_FEDERATED_TOKEN_FILE", "AZURE_AUTHORITY_HOST",
		"AZURE_TOKEN_CREDENTIALS", "AZURE_ADDITIONALLY_ALLOWED_TENANTS", "AZURE_CONFIG_DIR",
	}
)

// anyModel are for agents that take the key of every provider.
var anyModel = sync.OnceValue(func() []string {
	return slices.Concat(vertex, []string{
		"ANTHROPIC_*", "OPENAI_*", "GEMINI_*", "GOOGLE_*", "AWS_*", "AZURE_*", "VERTEX_LOCATION", "OPENROUTER_*", "GROQ_*", "MISTRAL_*", "XAI_*",
		"DEEPSEEK_*", "TOGETHER_*", "FIREWORKS_*", "CEREBRAS_*", "COHERE_*", "PERPLEXITY_*", "DEEPINFRA_*", "NVIDIA_API_KEY", "DASHSCOPE_*", "MOONSHOT_*",
		"KIMI_API_KEY", "MINIMAX_*", "ZHIPU_*", "ZAI_*", "HF_TOKEN", "OLLAMA_*", "LMSTUDIO_*", "LITELLM_*", "AI_GATEWAY_API_KEY", "CLOUDFLARE_*",
		"DATABRICKS_*", "SNOWFLAKE_*", "AICORE_*", "GITHUB_TOKEN", "GITLAB_TOKEN",
	})
})

// agents was compared with what the agents of November 2026 read: claude-agent-acp 0.49 and 0.100, codex-acp
// 0.16 and 2.6, gemini-cli and opencode by their programs, the others by their documentation. No switch is known for the updates of codex-acp, gemini, qwen,
// goose and cursor by a variable.
var agents = sync.OnceValue(func() []Agent {
	return []Agent{
		{
			ID: "claude-acp", programs: []string{"claude-agent-acp", "claude-code-acp", "claude"},
			NoUpdate: map[string]string{"DISABLE_AUTOUPDATER": "1"},
			Own:      []string{".claude", ".claude.json"},
			Env: slices.Concat(vertex, entra, []string{
				"ANTHROPIC_*", "CLAUDE_*", "AWS_*", "CLOUD_ML_REGION", "VERTEX_*", "IS_SANDBOX",
				"API_TIMEOUT_MS", "API_FORCE_IDLE_TIMEOUT", "MAX_THINKING_TOKENS", "MAX_STRUCTURED_OUTPUT_RETRIES", "FALLBACK_FOR_ALL_PRIMARY_MODELS",
				"ENABLE_TOOL_SEARCH", "ENABLE_CLAUDEAI_MCP_SERVERS", "ENABLE_MCP_LARGE_OUTPUT_FILES", "ENABLE_PROMPT_CACHING_*", "FORCE_PROMPT_CACHING_5M",
				"ENABLE_ENHANCED_TELEMETRY_BETA", "ENABLE_BETA_TRACING_DETAILED", "BETA_TRACING_ENDPOINT", "OTEL_*", "DISABLE_*", "DO_NOT_TRACK",
				"MCP_TIMEOUT", "MCP_TOOL_TIMEOUT", "MCP_CONNECTION_NONBLOCKING", "MCP_SERVER_CONNECTION_BATCH_SIZE",
				"MCP_REMOTE_SERVER_CONNECTION_BATCH_SIZE", "MCP_OAUTH_CALLBACK_PORT", "MAX_MCP_OUTPUT_TOKENS",
				"BASH_DEFAULT_TIMEOUT_MS", "BASH_MAX_*", "TASK_MAX_OUTPUT_LENGTH", "SLASH_COMMAND_TOOL_CHAR_BUDGET", "USE_BUILTIN_RIPGREP",
				"USE_API_CONTEXT_MANAGEMENT", "FORCE_AUTOUPDATE_PLUGINS",
			}),
			Hint: "claude-agent-acp 0.50 and later needs Node 22; as root it needs IS_SANDBOX=1 in its env",
		},
		{
			ID: "codex-acp", programs: []string{"codex-acp", "codex"},
			Own:  []string{".codex"},
			Bare: []string{"-c", `sandbox_mode="danger-full-access"`},
			Env: []string{
				"OPENAI_*", "CODEX_*", "AZURE_OPENAI_*", "AWS_*", "INITIAL_AGENT_MODE", "MODEL_PROVIDER", "DEFAULT_AUTH_REQUEST",
				"DISABLE_MCP_CONFIG_FILTERING", "APP_SERVER_LOGS", "RUST_LOG", "OTEL_*",
			},
			Hint: "log in with `codex login`, or set OPENAI_API_KEY; a variable that its config.toml names (env_key) must be in env",
		},
		{
			ID: "gemini", programs: []string{"gemini"}, NoFiles: true,
			Own: []string{".gemini"},
			Env: slices.Concat(vertex, []string{
				"GEMINI_*", "GOOGLE_*", "CLOUD_SHELL", "CODE_ASSIST_*", "OAUTH_CALLBACK_HOST", "OAUTH_CALLBACK_PORT", "SANDBOX_*", "SEATBELT_PROFILE",
				"OTLP_GOOGLE_CLOUD_PROJECT", "OTEL_*",
			}),
			Hint: "choose how to sign in once with `gemini`, or set GEMINI_API_KEY",
		},
		{
			ID: "opencode", programs: []string{"opencode"},
			NoUpdate: map[string]string{"OPENCODE_DISABLE_AUTOUPDATE": "1"},
			Own:      []string{".local/share/opencode", ".config/opencode", ".local/state/opencode", ".cache/opencode"},
			Env:      slices.Concat(anyModel(), []string{"OPENCODE_*", "EXA_API_KEY", "PARALLEL_API_KEY", "OTEL_*"}),
			Hint:     "log in with `opencode auth login`",
		},
		{
			ID: "qwen-code", programs: []string{"qwen"}, NoFiles: true,
			Own:  []string{".qwen"},
			Env:  slices.Concat(anyModel(), []string{"QWEN_*", "BAILIAN_*", "MODELSCOPE_*", "TAVILY_API_KEY", "SANDBOX_*", "SEATBELT_PROFILE", "OTEL_*"}),
			Hint: "it needs Node 22",
		},
		{
			ID: "github-copilot-cli", programs: []string{"copilot"},
			NoUpdate: map[string]string{"COPILOT_AUTO_UPDATE": "false"},
			Own:      []string{".copilot", ".config/github-copilot"},
			Env:      []string{"COPILOT_*", "GITHUB_COPILOT_*", "GH_*", "GITHUB_TOKEN", "USE_BUILTIN_RIPGREP", "OTEL_*"},
			Hint:     "log in with `copilot` and /login",
		},
		{ID: "cline", programs: []string{"cline"}, NoUpdate: map[string]string{"CLINE_NO_AUTO_UPDATE": "1"}, Env: []string{"CLINE_*", "ANTHROPIC_*", "OPENAI_*", "OPENROUTER_*"}, Own: []string{".cline"}},
		{ID: "kilo", programs: []string{"kilo", "kilocode"}, NoUpdate: map[string]string{"KILO_DISABLE_AUTOUPDATE": "1"}, Env: slices.Concat(anyModel(), []string{"KILO_*", "KILOCODE_*"}), Own: []string{".kilocode", ".local/share/kilo", ".config/kilo"}},
		{ID: "auggie", programs: []string{"auggie"}, NoUpdate: map[string]string{"AUGMENT_DISABLE_AUTO_UPDATE": "1"}, Env: []string{"AUGMENT_*"}, Own: []string{".augment"}},
		{ID: "goose", programs: []string{"goose"}, Env: slices.Concat(anyModel(), []string{"GOOSE_*", "OTEL_*"}), Own: []string{".config/goose", ".local/share/goose", ".local/state/goose"}},
		{ID: "cursor", programs: []string{"cursor-agent"}, Env: []string{"CURSOR_*"}, Own: []string{".cursor", ".config/cursor"}},
		{ID: "kimi", programs: []string{"kimi"}, NoUpdate: map[string]string{"KIMI_CODE_NO_AUTO_UPDATE": "1", "KIMI_CLI_NO_AUTO_UPDATE": "1"}, Env: []string{"KIMI_*", "MOONSHOT_*", "OPENAI_API_KEY", "OPENAI_BASE_URL"}, Own: []string{".kimi"}},
		{ID: "dragoman", programs: []string{"dragoman"}, Env: anyModel(), Own: []string{".config/dragoman", ".local/share/dragoman"}, NoServers: true},
		{ID: "eca", programs: []string{"eca"}, Env: slices.Concat(anyModel(), []string{"ECA_*", "GITHUB_*", "Z_AI_*"}), Own: []string{".config/eca", ".cache/eca"}, Hint: "it needs its argument: eca server"},
		{ID: "pi-acp", programs: []string{"pi-acp", "pi"}, NoUpdate: map[string]string{"PI_SKIP_VERSION_CHECK": "1"}, Env: slices.Concat(anyModel(), []string{"PI_*"}), Own: []string{".pi"}},
	}
})

// launchers are programs that start an agent somewhere else, with the variables by which they find the
// way there.
var launchers = sync.OnceValue(func() map[string][]string {
	return map[string][]string{
		"ssh":     {"SSH_AUTH_SOCK", "SSH_AGENT_PID", "SSH_ASKPASS", "SSH_ASKPASS_REQUIRE", "KRB5CCNAME"},
		"docker":  {"DOCKER_CONTEXT", "DOCKER_CONFIG", "DOCKER_CERT_PATH", "DOCKER_TLS_VERIFY", "DOCKER_API_VERSION", "SSH_AUTH_SOCK"},
		"podman":  {"CONTAINER_HOST", "CONTAINER_CONNECTION", "CONTAINER_SSHKEY", "CONTAINERS_CONF", "SSH_AUTH_SOCK"},
		"nerdctl": {"CONTAINERD_ADDRESS", "CONTAINERD_NAMESPACE", "NERDCTL_TOML"},
		"kubectl": {"KUBECONFIG"},
		"limactl": {"LIMA_HOME", "LIMA_INSTANCE", "SSH_AUTH_SOCK"},
	}
})

// Of finds the entry of a command line, by the name of a program or of a package that npx or
// the like starts. Another agent has an empty entry. If the command begins with a launcher, the entry has
// its variables as well.
func Of(command []string) (a Agent) {
	for _, word := range command {
		name := programName(word)
		if i := slices.IndexFunc(agents(), func(k Agent) bool { return slices.Contains(k.programs, name) || name == k.ID }); i >= 0 {
			a = agents()[i]
			break
		}
	}
	if len(command) > 0 {
		a.Env = slices.Concat(a.Env, launchers()[programName(command[0])])
	}
	return a
}

// ByID finds the entry of an agent of the registry. Another agent has an empty entry.
func ByID(id string) Agent {
	if i := slices.IndexFunc(agents(), func(k Agent) bool { return k.ID == id }); i >= 0 {
		return agents()[i]
	}
	return Agent{}
}

// programName returns the name of a program or a package, without its path, version and extension.
func programName(word string) string {
	name := filepath.Base(filepath.ToSlash(word))
	if at := strings.LastIndexByte(name, '@'); at > 0 { // a package with its version
		name = name[:at]
	}
	name = strings.ToLower(name)
	for _, ext := range []string{".exe", ".cmd", ".ps1", ".js", ".mjs"} {
		name = strings.TrimSuffix(name, ext)
	}
	return name
}
