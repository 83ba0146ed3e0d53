package eca

import (
	"context"
	"strings"

	"dragoman/adapters/proto/eca"
	"dragoman/adapters/wire"
	"dragoman/core"
)

// queryCommands is chat/queryCommands: those whose name holds what was typed.
func (s *Server) queryCommands(ctx context.Context, call *wire.Call, p eca.QueryParams) error {
	roots, dialect := s.rootsNow(), s.peerNow().dialect
	s.wg.Go(func() { // it reads files
		res := eca.QueryCommandsResult{ChatID: p.ChatID, Commands: []eca.Command{}}
		if prof, err := s.opts.Gateway.Profile(ctx, s.opts.Profiles, roots); err == nil && prof.Commands != nil {
			res.Commands = commandsOf(prof.Commands(ctx, core.Meta{Roots: roots}), strings.TrimPrefix(p.Query, "/"), dialect)
		}
		s.reply(ctx, call, res, nil)
	})
	return nil
}

// commandsOf is a list of commands in a dialect's words.
func commandsOf(list []core.Command, query string, d Dialect) []eca.Command {
	out := []eca.Command{}
	for _, c := range list {
		if !strings.Contains(strings.ToLower(c.Name), strings.ToLower(query)) {
			continue
		}
		cmd := eca.Command{Name: c.Name, Description: c.Description, Type: "native", Arguments: argumentsOf(c)}
		switch c.Kind {
		case core.CommandCustom:
			cmd.Type = "customPrompt"
		case core.CommandSkill:
			cmd.Type = "skill"
		case core.CommandMCP:
			if cmd.Type = "mcpPrompt"; d.early() {
				cmd.Type = "mcp-prompt"
			}
		case core.CommandBuiltin:
		}
		if d.early() && c.Kind != core.CommandMCP { // the early documents know no other kind of ours
			cmd.Type = "native"
		}
		out = append(out, cmd)
	}
	return out
}

func argumentsOf(c core.Command) []eca.Argument {
	list := []eca.Argument{}
	for _, a := range c.Arguments {
		list = append(list, eca.Argument{Name: a.Name, Description: a.Description, Required: a.Required})
	}
	return list
}
