package setup

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"dragoman/cmd/internal/program"
	"dragoman/configs"
	"dragoman/core"
	"dragoman/core/policy"
	"dragoman/core/tools"
)

// AllowRule reads an allow rule of the command line, TOOL or TOOL:PATTERN. PATTERN is that of the
// command, the path or the address, depending on the tool. A tool of an MCP server is
// SERVER__TOOL, and * is any text.
func AllowRule(text string, env configs.Env) (configs.Rule, error) {
	tool, pattern, narrow := strings.Cut(text, ":")
	r := configs.Rule{Tool: tool}
	server, name, served := strings.Cut(strings.TrimPrefix(tool, "mcp__"), "__")
	if served {
		r.Server, r.Tool = server, name
	}
	var err error
	switch {
	case served && server == "": // a rule without a server would be for all of them
		err = errors.New("the name of the server is missing")
	case r.Tool == "":
		err = errors.New("the name of the tool is missing")
	case r.Server == "" && !tools.Named(tool) && !strings.Contains(tool, "*"):
		err = fmt.Errorf("there is no tool %q%s (a tool of an MCP server is SERVER__TOOL)",
			tool, configs.DidYouMean(tool, tools.Names()))
	case narrow && pattern == "":
		err = errors.New("the pattern after the colon is missing")
	case narrow:
		err = narrowRule(&r, pattern)
	}
	if err == nil {
		rule := policyRule(core.Allow, r)
		_, err = policy.New(policy.Options{Rules: []policy.Rule{rule}, Home: program.Home(env)})
	}
	if err != nil {
		return configs.Rule{}, fmt.Errorf("allow %q: %w", text, cause(err))
	}
	return r, nil
}

// narrowRule sets the pattern of a rule that has only a tool.
func narrowRule(r *configs.Rule, pattern string) error {
	op := tools.Touches(r.Tool)
	switch {
	case r.Server != "" || op == "":
		return fmt.Errorf("%s takes no pattern: only our own tools for commands, files and web pages do", r.Tool)
	case op == core.OpRun:
		r.Command = pattern
	case op == core.OpNet:
		r.URL = pattern
	default:
		r.Path = pattern
	}
	return nil
}

// allowing returns a configuration with further allow rules; the original is not changed.
func allowing(c *configs.Config, rules []configs.Rule) *configs.Config {
	if len(rules) == 0 {
		return c
	}
	same := *c
	same.Policy.Allow = slices.Concat(c.Policy.Allow, rules)
	return &same
}
