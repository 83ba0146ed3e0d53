package agent

import (
	"path/filepath"
	"slices"
	"strings"
)

// Known is a table entry about an agent of others: what its program needs from us.
type Known struct {
	ID       string   // in the registry of agents
	programs []string // names of its program, without the extension
	// Env lists the variables by which it finds its credentials and settings, written like
	// child.Safe.
	Env []string
	// noFiles: it fails when the client offers to read and write files. Its write_file asks for
	// every new file first, and takes no form of error for "there is no such file".
	noFiles bool
	// Hint is advice for people when it does not start.
	Hint string
}

// barred are never passed on: they make an agent believe that it runs within another one.
var barred = []string{"CLAUDECODE", "CLAUDE_CODE_ENTRYPOINT", "CLAUDE_CODE_SSE_PORT"}

var known = []Known{
	{
		ID: "claude-acp", programs: []string{"claude-agent-acp", "claude-code-acp", "claude"},
		Env: []string{
			"ANTHROPIC_*", "CLAUDE_*", "AWS_*", "GOOGLE_APPLICATION_CREDENTIALS", "GOOGLE_CLOUD_*", "CLOUD_ML_REGION", "VERTEX_*", "BROWSER", "NO_BROWSER", "IS_SANDBOX",
			"MAX_THINKING_TOKENS", "MCP_TIMEOUT", "DISABLE_*", "BASH_DEFAULT_TIMEOUT_MS", "BASH_MAX_*",
		},
		Hint: "claude-agent-acp 0.50 and later needs Node 22; as root it needs IS_SANDBOX=1 in its env",
	},
	{
		ID: "codex-acp", programs: []string{"codex-acp", "codex"},
		Env:  []string{"OPENAI_*", "CODEX_*", "AZURE_OPENAI_*", "INITIAL_AGENT_MODE", "MODEL_PROVIDER", "NO_BROWSER"},
		Hint: "log in with `codex login`, or set OPENAI_API_KEY",
	},
	{
		ID: "gemini", programs: []string{"gemini"}, noFiles: true,
		Env:  []string{"GEMINI_*", "GOOGLE_*", "NO_BROWSER", "CLOUD_SHELL"},
		Hint: "choose how to sign in once with `gemini`, or set GEMINI_API_KEY",
	},
	{
		ID: "opencode", programs: []string{"opencode"},
		Env:  []string{"OPENCODE_*", "ANTHROPIC_*", "OPENAI_*", "GEMINI_*", "GOOGLE_*", "OPENROUTER_*", "GROQ_*", "MISTRAL_*", "XAI_*", "DEEPSEEK_*", "AWS_*", "AZURE_*"},
		Hint: "log in with `opencode auth login`",
	},
	{ID: "qwen-code", programs: []string{"qwen"}, noFiles: true, Env: []string{"QWEN_*", "OPENAI_*", "DASHSCOPE_*"}, Hint: "it needs Node 22"},
	{ID: "github-copilot-cli", programs: []string{"copilot"}, Env: []string{"COPILOT_*", "GH_*", "GITHUB_TOKEN"}, Hint: "log in with `copilot` and /login"},
	{ID: "cline", programs: []string{"cline"}, Env: []string{"CLINE_*", "ANTHROPIC_*", "OPENAI_*", "OPENROUTER_*"}},
	{ID: "kilo", programs: []string{"kilo", "kilocode"}, Env: []string{"KILO_*", "KILOCODE_*"}},
	{ID: "auggie", programs: []string{"auggie"}, Env: []string{"AUGMENT_*"}},
	{ID: "goose", programs: []string{"goose"}, Env: []string{"GOOSE_*", "ANTHROPIC_*", "OPENAI_*", "GEMINI_*", "GOOGLE_*", "OPENROUTER_*", "DATABRICKS_*"}},
	{ID: "cursor", programs: []string{"cursor-agent"}, Env: []string{"CURSOR_*"}},
	{ID: "kimi", programs: []string{"kimi"}, Env: []string{"KIMI_*", "MOONSHOT_*"}},
	{ID: "pi-acp", programs: []string{"pi-acp", "pi"}, Env: []string{"PI_*", "ANTHROPIC_*", "OPENAI_*", "GEMINI_*"}},
}

// launchers are programs that start an agent somewhere else, with the variables by which they find the
// way there.
var launchers = map[string][]string{
	"ssh":     {"SSH_AUTH_SOCK", "SSH_AGENT_PID", "SSH_ASKPASS", "SSH_ASKPASS_REQUIRE", "KRB5CCNAME"},
	"docker":  {"DOCKER_CONTEXT", "DOCKER_CONFIG", "DOCKER_CERT_PATH", "DOCKER_TLS_VERIFY", "DOCKER_API_VERSION", "SSH_AUTH_SOCK"},
	"podman":  {"CONTAINER_HOST", "CONTAINER_CONNECTION", "CONTAINER_SSHKEY", "CONTAINERS_CONF", "SSH_AUTH_SOCK"},
	"nerdctl": {"CONTAINERD_ADDRESS", "CONTAINERD_NAMESPACE", "NERDCTL_TOML"},
	"kubectl": {"KUBECONFIG"},
	"limactl": {"LIMA_HOME", "LIMA_INSTANCE", "SSH_AUTH_SOCK"},
}

// KnownOf finds the entry of a command line, by the name of a program or of a package that npx or
// the like starts. Another agent has an empty entry. If the command begins with a launcher, the entry has
// its variables as well.
func KnownOf(command []string) (k Known) {
	for _, word := range command {
		name := programName(word)
		if i := slices.IndexFunc(known, func(k Known) bool { return slices.Contains(k.programs, name) || name == k.ID }); i >= 0 {
			k = known[i]
			break
		}
	}
	if len(command) > 0 {
		k.Env = slices.Concat(k.Env, launchers[programName(command[0])])
	}
	return k
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

// KnownIDs lists the registry's ids of the agents in the table.
func KnownIDs() (ids []string) {
	for _, k := range known {
		ids = append(ids, k.ID)
	}
	return ids
}
