package eca

import (
	"context"

	"dragoman/adapters/proto/eca"
	"dragoman/adapters/wire"
)

// queryContext is chat/queryContext. Nothing is offered.
func (s *Server) queryContext(ctx context.Context, call *wire.Call, p eca.QueryParams) error {
	s.reply(ctx, call, eca.QueryContextResult{ChatID: p.ChatID, Contexts: []eca.Context{}}, nil)
	return nil
}

// queryFiles is chat/queryFiles. Nothing is offered.
func (s *Server) queryFiles(ctx context.Context, call *wire.Call, p eca.QueryParams) error {
	s.reply(ctx, call, eca.QueryFilesResult{ChatID: p.ChatID, Files: []eca.Context{}}, nil)
	return nil
}

// queryCommands is chat/queryCommands. Nothing is offered.
func (s *Server) queryCommands(ctx context.Context, call *wire.Call, p eca.QueryParams) error {
	s.reply(ctx, call, eca.QueryCommandsResult{ChatID: p.ChatID, Commands: []eca.Command{}}, nil)
	return nil
}

// providersList is providers/list.
func (s *Server) providersList(ctx context.Context, call *wire.Call, _ none) error {
	s.reply(ctx, call, eca.ProvidersListResult{Providers: s.reload(ctx).providers()}, nil)
	return nil
}

// jobsList is jobs/list. No program runs beside the chats.
func (s *Server) jobsList(ctx context.Context, call *wire.Call, _ none) error {
	s.reply(ctx, call, eca.JobsListResult{Jobs: []eca.Job{}}, nil)
	return nil
}
