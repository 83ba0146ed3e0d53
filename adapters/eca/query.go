package eca

import (
	"context"
	"strings"

	"dragoman/adapters/proto/eca"
	"dragoman/adapters/wire"
	"dragoman/core"
)

// queryCommands handles chat/queryCommands: the commands whose name contains the typed text.
func (s *Server) queryCommands(ctx context.Context, call *wire.Call, p eca.QueryParams) error {
	roots := s.rootsNow()
	var att *core.Attachment
	if p.ChatID != nil {
		if c := s.chat(*p.ChatID); c != nil {
			att = c.att.Load()
		}
	}
	s.wg.Go(func() { // it reads files
		res := eca.QueryCommandsResult{ChatID: p.ChatID, Commands: []eca.Command{}}
		var list []core.Command
		guest := ""
		if att != nil { // its agent may have commands of its own
			list, _ = s.opts.Gateway.Commands(ctx, att)
			if a, ok := s.offered().Agent(att.State().Settings.Agent); ok && a.External {
				guest = a.Name
			}
		} else if prof, err := s.opts.Gateway.Profile(ctx, s.opts.Profiles, roots); err == nil && prof.Commands != nil {
			list = prof.Commands(ctx, core.Meta{Roots: roots})
		}
		res.Commands = commandsOf(list, strings.TrimPrefix(p.Query, "/"), guest)
		s.reply(ctx, call, res, nil)
	})
	return nil
}

// commandsOf converts a list of commands to the protocol's form. In a chat with an agent behind the
// gateway, the guest, each says whose it is; "": there is none.
func commandsOf(list []core.Command, query, guest string) []eca.Command {
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
			cmd.Type = "mcpPrompt"
		case core.CommandBuiltin, core.CommandAgent:
		}
		if guest != "" {
			whose := "dragoman"
			if c.Kind == core.CommandAgent {
				whose = guest
			}
			cmd.Description = strings.TrimSuffix(whose+": "+c.Description, ": ")
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
