package mcp_test

import (
	"context"
	"fmt"
	"testing"

	"dragoman/adapters/mcp"
	"dragoman/adapters/wire"
	"dragoman/adapters/wire/wiretest"
	"dragoman/core"
	"dragoman/core/coretest"
)

// BenchmarkInitialize measures a connection up to the answer to initialize, and its end.
func BenchmarkInitialize(b *testing.B) {
	for b.Loop() {
		in, out, peer := wiretest.New(wire.Newline)
		served := make(chan error, 1)
		go func() {
			served <- mcp.New(mcp.Options{Gateway: newGateway(coretest.NewMemory(), 0, nil), Principal: core.Local}).Serve(b.Context(), in, out)
		}()
		if err := peer.Send(initialize); err != nil {
			b.Fatal(err)
		}
		if _, err := peer.Next(); err != nil {
			b.Fatal(err)
		}
		peer.Hangup()
		if err := <-served; err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkPrompt measures successive short turns in one session.
func BenchmarkPrompt(b *testing.B) {
	g := newGateway(coretest.NewMemory(), 0, nil)
	in, out, peer := wiretest.New(wire.Newline)
	served := make(chan error, 1)
	dir := b.TempDir()
	go func() {
		served <- mcp.New(mcp.Options{Gateway: g, Principal: core.Local, Cwd: dir}).Serve(b.Context(), in, out)
	}()
	call := func(line string) {
		if err := peer.Send(line); err != nil {
			b.Fatal(err)
		}
		if _, err := peer.Next(); err != nil {
			b.Fatal(err)
		}
	}
	call(initialize)
	call(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"agent_prompt","arguments":{"prompt":"say hello"}}}`)
	n := 1
	for b.Loop() {
		n++
		call(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"agent_prompt","arguments":{"prompt":"say hello","session_id":"s1"}}}`, n))
	}
	peer.Hangup()
	if err := <-served; err != nil {
		b.Fatal(err)
	}
	if err := g.Close(context.WithoutCancel(b.Context())); err != nil {
		b.Fatal(err)
	}
}
