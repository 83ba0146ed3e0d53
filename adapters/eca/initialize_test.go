package eca_test

import (
	"fmt"
	"testing"
	"testing/synctest"

	"dragoman/adapters/eca"
	"dragoman/adapters/wire"
	"dragoman/adapters/wire/wiretest"
	"dragoman/core"
	"dragoman/core/coretest"
)

// Members that clients omit from initialize, or send as null, fail nothing; a member of another
// type is an error, and the client may try again.
func TestInitializeVariants(t *testing.T) {
	for params, fine := range map[string]bool{
		``:                      true,
		`,"params":null`:        true,
		`,"params":{}`:          true,
		`,"params":{"more":{}}`: true,
		`,"params":{"processId":null,"clientInfo":null,"initializationOptions":null,"capabilities":null,"workspaceFolders":null}`:               true,
		`,"params":{"processId":null,"clientInfo":{},"initializationOptions":{},"capabilities":{},"workspaceFolders":[]}`:                       true,
		`,"params":{"capabilities":{"codeAssistant":null}}`:                                                                                     true,
		`,"params":{"capabilities":{"codeAssistant":{"chat":null,"editor":null,"chatCapabilities":null,"rewrite":null}}}`:                       true,
		`,"params":{"initializationOptions":{"chatAgent":null,"chatBehavior":null}}`:                                                            true,
		`,"params":{"initializationOptions":{"chatAgent":5,"providers":[1]}}`:                                                                   true, // a layer of configuration may contain anything
		`,"params":{"initializationOptions":"x"}`:                                                                                               true,
		`,"params":{"initializationOptions":[1]}`:                                                                                               true,
		`,"params":{"workspaceFolders":[{"uri":"file:///w"},{"uri":"file:///w/"},{"uri":"file:///v%20w","name":null},{"uri":"untitled:x"},{}]}`: true,
		`,"params":{"clientInfo":{"name":"x","version":null}}`:                                                                                  true,
		`,"params":{"process-id":null,"client-info":{"name":"x"},"workspace-folders":[]}`:                                                       true,
		`,"params":{"processId":"x"}`:                false,
		`,"params":{"processId":1.5}`:                false,
		`,"params":{"processId":1e30}`:               false,
		`,"params":{"clientInfo":"x"}`:               false,
		`,"params":{"capabilities":[]}`:              false,
		`,"params":{"workspaceFolders":{}}`:          false,
		`,"params":{"workspaceFolders":[5]}`:         false,
		`,"params":{"workspaceFolders":[{"uri":5}]}`: false,
		`,"params":[]`:                               false,
		`,"params":"x"`:                              false,
	} {
		synctest.Test(t, func(t *testing.T) {
			g := newGateway(coretest.NewMemory(), nil)
			in, out, peer := wiretest.New(wire.ContentLength)
			end := make(chan error, 1)
			go func() {
				end <- eca.New(eca.Options{Gateway: g.Gateway, Principal: core.Local, Cwd: "/w"}).Serve(t.Context(), in, out)
			}()
			e := &editor{t: t, peer: peer}
			e.last = 1
			e.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"initialize"%s}`, params))
			m := e.until(func(m message) bool { return string(m.ID) == "1" })
			if welcome, _ := m.Result["chatWelcomeMessage"].(string); (m.Error == nil) != fine || fine && welcome == "" {
				t.Errorf("%s: %s", params, m.raw)
			}
			if !fine {
				if m := e.ask("initialize", `{}`); m.Error != nil {
					t.Errorf("%s: once more: %s", params, m.raw)
				}
			}
			e.tell("initialized", "null")
			e.say("c", "say x")
			if e.text("c") != "x" {
				t.Errorf("%s: then %q", params, e.text("c"))
			}
			peer.Hangup()
			<-end
			if err := g.Close(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
}
