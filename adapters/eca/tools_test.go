package eca_test

import (
	"encoding/json"
	"strings"
	"testing"
	"testing/synctest"

	"dragoman/core"
	"dragoman/core/board"
	"dragoman/core/coretest"
	"dragoman/core/ide"
)

// readers is a policy with an agent, "plan", that is offered only tools that read.
type readers struct{ core.Policy }

func (readers) Offers(agent string, t core.Spec) bool { return agent != "plan" || t.ReadOnly }

// TestToolsOfTheSelectedAgent announces our own tools as the client's editor and the selected agent
// may use them.
func TestToolsOfTheSelectedAgent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		prof := profile()
		prof.Policy = readers{prof.Policy}
		prof.Agents = append(prof.Agents, core.Agent{Name: "plan", Backend: &coretest.Backend{}})
		s := beginAs(t, `{"name":"emacs","version":"30"}`, same(prof), "/w")
		defer s.close()
		s.g.board.Put(board.Topic{Kind: "server", Name: core.Native}, board.Server{Name: core.Native, Status: "running", Tools: []core.Spec{
			{Server: core.Native, Name: "read_file", ReadOnly: true},
			{Server: core.Native, Name: "write_file"},
			{Server: core.Native, Name: ide.ReferencesTool, ReadOnly: true},
		}})
		announced := func() string {
			m := s.until(func(m message) bool { return strings.Contains(m.raw, `"tool/serverUpdated"`) })
			var said struct {
				Params struct {
					Tools []struct {
						Name     string
						Disabled bool
					}
				}
			}
			if err := json.Unmarshal([]byte(m.raw), &said); err != nil {
				t.Fatal(err)
			}
			var list []string
			for _, tool := range said.Params.Tools {
				if tool.Disabled {
					tool.Name += " disabled"
				}
				list = append(list, tool.Name)
			}
			return strings.Join(list, ", ")
		}
		if got := announced(); got != "read_file, write_file" {
			t.Errorf("at first: %s", got)
		}
		s.tell("chat/selectedAgentChanged", `{"agent":"plan"}`)
		if got := announced(); got != "read_file, write_file disabled" {
			t.Errorf("for plan: %s", got)
		}
		s.tell("chat/selectedAgentChanged", `{"agent":"code"}`)
		if got := announced(); got != "read_file, write_file" {
			t.Errorf("for code: %s", got)
		}
	})
}
