package agent

import (
	"slices"
	"strings"
	"testing"

	"dragoman/bridge/agent/known"
	"dragoman/core/child"
)

// always must reach no agent: what loads code into a program or is read by a shell at its start, the keys
// of nobody in the table, and what says that the agent runs within another one.
var always = []string{
	"LD_PRELOAD", "DYLD_INSERT_LIBRARIES", "NODE_OPTIONS", "BUN_OPTIONS", "PYTHONPATH", "PYTHONSTARTUP", "BASH_ENV", "ENV", "PROMPT_COMMAND", "GIT_SSH_COMMAND",
	"SSH_AUTH_SOCK", "STRIPE_API_KEY", "NPM_TOKEN", "SANDBOX", "AI_AGENT", "CLAUDECODE", "CLAUDE_CODE_ENTRYPOINT", "CLAUDE_CODE_SSE_PORT", "CLAUDE_CODE_SESSION_ID",
	"CLAUDE_CODE_CHILD_SESSION", "CLAUDE_CODE_OAUTH_TOKEN_FILE_DESCRIPTOR", "CODEX_THREAD_ID", "GEMINI_CLI", "GEMINI_CLI_IDE_SERVER_PORT", "OPENCODE", "OPENCODE_PID",
	"PI_SESSION_ID",
}

// Each agent gets the variables that it reads in its user's shell, and none of the others.
func TestEnvironmentsOfKnownAgents(t *testing.T) {
	for command, c := range map[string]struct{ gets, lacks string }{
		"claude-agent-acp": {
			"ANTHROPIC_API_KEY ANTHROPIC_BASE_URL CLAUDE_CONFIG_DIR CLAUDE_CODE_OAUTH_TOKEN CLAUDE_CODE_USE_VERTEX AWS_PROFILE GOOGLE_CLOUD_PROJECT CLOUDSDK_CONFIG AZURE_CLIENT_ID " +
				"ENABLE_TOOL_SEARCH API_TIMEOUT_MS MCP_TOOL_TIMEOUT MAX_MCP_OUTPUT_TOKENS DISABLE_TELEMETRY OTEL_EXPORTER_OTLP_ENDPOINT IS_SANDBOX",
			"OPENAI_API_KEY GEMINI_API_KEY GOOGLE_API_KEY AZURE_OPENAI_API_KEY AZURE_API_KEY GITHUB_TOKEN MCP_SERVER_SECRET",
		},
		"codex-acp": {
			"OPENAI_API_KEY OPENAI_BASE_URL CODEX_HOME CODEX_API_KEY CODEX_CA_CERTIFICATE AZURE_OPENAI_API_KEY AWS_BEARER_TOKEN_BEDROCK INITIAL_AGENT_MODE RUST_LOG",
			"ANTHROPIC_API_KEY GEMINI_API_KEY AZURE_CLIENT_SECRET",
		},
		"gemini": {
			"GEMINI_API_KEY GEMINI_CLI_HOME GOOGLE_API_KEY GOOGLE_CLOUD_PROJECT GOOGLE_GEMINI_BASE_URL CODE_ASSIST_ENDPOINT OAUTH_CALLBACK_PORT SANDBOX_FLAGS",
			"ANTHROPIC_API_KEY OPENAI_API_KEY AWS_PROFILE",
		},
		"opencode": {
			"OPENCODE_CONFIG OPENCODE_API_KEY ANTHROPIC_API_KEY OPENAI_API_KEY MOONSHOT_API_KEY CEREBRAS_API_KEY AI_GATEWAY_API_KEY GITHUB_TOKEN AZURE_RESOURCE_NAME EXA_API_KEY",
			"CLAUDE_CONFIG_DIR CODEX_HOME",
		},
		"qwen":    {"QWEN_HOME DASHSCOPE_API_KEY OPENAI_API_KEY TAVILY_API_KEY", "CLAUDE_CONFIG_DIR"},
		"copilot": {"COPILOT_HOME COPILOT_GITHUB_TOKEN GH_TOKEN GITHUB_TOKEN", "OPENAI_API_KEY"},
		"other":   {"HTTPS_PROXY NODE_EXTRA_CA_CERTS NODE_USE_SYSTEM_CA SSH_TTY", "OPENAI_API_KEY ANTHROPIC_API_KEY OTEL_EXPORTER_OTLP_HEADERS"},
	} {
		gets := append(strings.Fields(c.gets), "PATH", "HTTPS_PROXY", "SSL_CERT_FILE", "BROWSER", "NO_BROWSER")
		lacks := slices.Concat(strings.Fields(c.lacks), always)
		var ours []string
		for _, name := range slices.Concat(gets, lacks) {
			ours = append(ours, name+"=x")
		}
		env := New(Options{Name: "a", Known: known.Of([]string{command}), Environ: func() []string { return ours }}).o.Env(nil)
		for _, name := range gets {
			if child.Lookup(env, name) == "" {
				t.Errorf("%s does not get %s", command, name)
			}
		}
		for _, name := range lacks {
			if child.Lookup(env, name) != "" {
				t.Errorf("%s gets %s", command, name)
			}
		}
	}
}
