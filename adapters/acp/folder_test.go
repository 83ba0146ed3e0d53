package acp_test

import (
	"errors"
	"strings"
	"testing"

	"dragoman/adapters/acp"
	"dragoman/adapters/wire"
	"dragoman/adapters/wire/wiretest"
	"dragoman/core"
	"dragoman/core/coretest"
)

// A new session needs folders that can be worked in; one that is opened again does not.
func TestNewSessionNeedsItsFolders(t *testing.T) {
	gone := map[string]bool{"/gone": true}
	g := newGateway(coretest.NewMemory(), nil, false)
	server := acp.New(acp.Options{Gateway: g, Principal: core.Local, Folder: func(dir string) error {
		if gone[dir] {
			return errors.New("no folder " + dir)
		}
		return nil
	}})
	peer, stop := wiretest.Serve(t, wire.Newline, server.Serve)
	said := func(request, id string) string {
		t.Helper()
		if err := peer.Send(request); err != nil {
			t.Fatal(err)
		}
		return peer.Until(t, `"id":`+id)
	}
	said(hello, "0")
	for i, folders := range []string{
		`"cwd":"/gone"`,
		`"cwd":"/w","additionalDirectories":["/v","/gone"]`,
	} {
		id := string(rune('1' + i))
		got := said(`{"jsonrpc":"2.0","id":`+id+`,"method":"session/new","params":{`+folders+`,"mcpServers":[]}}`, id)
		if !strings.Contains(got, "-32602") || !strings.Contains(got, "session/new: no folder /gone") {
			t.Errorf("%s: %s", folders, got)
		}
	}
	if got := said(`{"jsonrpc":"2.0","id":3,"method":"session/new","params":{"cwd":"/w","mcpServers":[]}}`, "3"); !strings.Contains(got, `"sessionId":"s1"`) {
		t.Fatal(got)
	}
	said(`{"jsonrpc":"2.0","id":4,"method":"session/prompt","params":{"sessionId":"s1","prompt":[{"type":"text","text":"say hello"}]}}`, "4")
	gone["/w"] = true
	for i, method := range []string{"load", "resume", "fork"} {
		id := string(rune('5' + i))
		if got := said(`{"jsonrpc":"2.0","id":`+id+`,"method":"session/`+method+`","params":{"sessionId":"s1","cwd":"/w","mcpServers":[]}}`, id); strings.Contains(got, `"error"`) {
			t.Errorf("session/%s: %s", method, got)
		}
	}
	stop()
	if err := g.Close(t.Context()); err != nil {
		t.Error(err)
	}
}
