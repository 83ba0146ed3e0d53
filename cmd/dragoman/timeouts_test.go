package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// silentScript is a server that answers what the variable ANSWERS names, and nothing else. It outlives its
// input, so that its end is no answer.
const silentScript = `while read -r line; do
	id=$(printf %s "$line" | sed -n 's/.*"id":\([^,}]*\).*/\1/p')
	case "$ANSWERS $line" in
	all*'"initialize"'*) printf '{"jsonrpc":"2.0","id":%s,"result":` + silentHello + `}\n' "$id";;
	all*'"tools/list"'*) printf '{"jsonrpc":"2.0","id":%s,"result":` + silentTools + `}\n' "$id";;
	esac
done
exec sleep 60`

const (
	silentHello = `{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"silent","version":"1"}}`
	silentTools = `{"tools":[{"name":"t","inputSchema":{"type":"object"}}]}`
)

// silentServers are the entries of a server that never answers a call, and with starts unset not
// even initialize: as a program and over HTTP.
func silentServers(t *testing.T, starts bool) map[string]string {
	t.Helper()
	answers := "none"
	if starts {
		answers = "all"
	}
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var m struct {
			ID     json.RawMessage
			Method string
		}
		body, _ := io.ReadAll(r.Body)
		_ = json.Unmarshal(body, &m)
		result := map[string]string{"initialize": silentHello, "tools/list": silentTools}[m.Method]
		switch {
		case r.Method != http.MethodPost:
			w.WriteHeader(http.StatusMethodNotAllowed)
		case m.ID == nil:
			w.WriteHeader(http.StatusAccepted)
		case !starts || result == "":
			<-r.Context().Done()
		default:
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, result)
		}
	}))
	t.Cleanup(func() { site.CloseClientConnections(); site.Close() })
	return map[string]string{
		"stdio": fmt.Sprintf("command: sh, args: [-c, %q], env: {ANSWERS: %s}", silentScript, answers),
		"http":  fmt.Sprintf("url: %q", site.URL),
	}
}

// The time limits of a server's configuration hold for every kind of server and in everything that
// uses it: a session, the server alone and all servers as one, over a pipe and over HTTP.
func TestTimeLimitsOfServersHoldEverywhere(t *testing.T) {
	unixOnly(t)
	request := func(tool string) string {
		return `{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"` + tool + `","arguments":{}}}`
	}
	piped := func(tool string, args ...string) func(*testing.T, *place) string {
		return func(t *testing.T, p *place) string {
			o := p.run(t, strings.Join([]string{relayHello, relayReady, relayList, request(tool)}, "\n")+"\n", args...)
			return o.out + o.errs
		}
	}
	posted := func(tool, path string) func(*testing.T, *place) string {
		return func(t *testing.T, p *place) string {
			post := posting(t, p)
			_, session, all := post(path, "", relayHello)
			if strings.Contains(all, `"error"`) {
				return all
			}
			for _, m := range []string{relayReady, relayList, request(tool)} {
				_, _, text := post(path, session, m)
				all += "\n" + text
			}
			return all
		}
	}
	// All servers as one answer without a server that does not start; its log has the reason.
	logged := func(t *testing.T, p *place) string {
		all := posted("up__t", "")(t, p)
		for t.Context().Err() == nil {
			if o := p.run(t, "", "mcp-servers", "logs", "up"); strings.Contains(o.out, "does not run") {
				return all + o.out
			}
		}
		return all
	}
	ran := func(prompt string) func(*testing.T, *place) string {
		return func(t *testing.T, p *place) string {
			o := p.run(t, "", "run", prompt)
			return o.out + o.errs
		}
	}
	const start, call = "did not answer within 1s of its start", "gave no sign of life for 1s"
	for name, c := range map[string]struct {
		starts bool
		use    func(*testing.T, *place) string
		want   string
	}{
		"start/only":    {false, piped("t", "mcp", "--only", "up"), start},
		"start/all":     {false, piped("up__t", "mcp"), start},
		"start/address": {false, posted("t", "/up"), start},
		"start/http":    {false, logged, start},
		"start/session": {false, ran("/up:hello"), start},
		"call/only":     {true, piped("t", "mcp", "--only", "up"), call},
		"call/all":      {true, piped("up__t", "mcp"), call},
		"call/address":  {true, posted("t", "/up"), call},
		"call/http":     {true, posted("up__t", ""), call},
		"call/session":  {true, ran("use it"), call},
	} {
		stdio := strings.HasSuffix(name, "only") || strings.HasSuffix(name, "session") || strings.HasSuffix(name, "http")
		for way, server := range silentServers(t, c.starts) {
			if stdio != (way == "stdio") && c.starts { // what waits for a call does not know how its server is reached
				continue
			}
			t.Run(name+"/"+way, func(t *testing.T) {
				t.Parallel()
				p := newPlace(t)
				turns := filepath.Join(p.home, "turns.json")
				p.write(t, turns, `{"fixtures":[
					{"match":{"userMessage":"use it","hasToolResult":false},"response":{"toolCalls":[{"id":"c1","name":"up__t","arguments":{}}]}},
					{"match":{"userMessage":"use it"},"response":{"content":"Done."}}]}`)
				limits := "start_timeout: 1m, call_timeout: 1s"
				if !c.starts {
					limits = "start_timeout: 1s, call_timeout: 1m"
				}
				p.config(t, "model: played/x\nproviders:\n  played:\n    kind: replay\n    options: {file: "+strconv.Quote(turns)+"}\npolicy:\n  allow:\n    - {server: up}\nmcp_servers:\n  up: {"+server+", "+limits+"}\n")
				if got := c.use(t, p); !strings.Contains(got, c.want) {
					t.Errorf("%q is missing in\n%s", c.want, got)
				}
			})
		}
	}
}
