package acp

import (
	"context"

	"dragoman/adapters/wire"
	"dragoman/core"
)

type threads struct{ open map[core.SessionID]*thread }
type thread struct{}

func isThreadMethod(string) bool { return false }

func (s *Server) threadMethods(context.Context) wire.Methods { return nil }
