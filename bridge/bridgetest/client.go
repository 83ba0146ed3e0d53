package bridgetest

import (
	"bufio"
	"context"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	proto "dragoman/adapters/proto/mcp"
)

// Patience is the time after which a test counts as hanging.
const Patience = 60 * time.Second

// Patient returns a context that ends with the test, or when it hangs.
func Patient(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), Patience)
	t.Cleanup(cancel)
	return ctx
}

// Eras are the versions that clients are tested at.
var Eras = []string{proto.Legacy, proto.Modern}

// Connected returns a session of the SDK's client.
func Connected(t *testing.T, tr mcp.Transport, version string, o *mcp.ClientOptions) *mcp.ClientSession {
	t.Helper()
	c := mcp.NewClient(&mcp.Implementation{Name: "c", Version: "1"}, o)
	cs, err := c.Connect(Patient(t), tr, &mcp.ClientSessionOptions{ProtocolVersion: version})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cs.Close() })
	if got := cs.InitializeResult().ProtocolVersion; got != version {
		t.Fatalf("they speak %s", got)
	}
	return cs
}

// ToolNames lists the tools that a client gets.
func ToolNames(t *testing.T, cs *mcp.ClientSession) []string {
	t.Helper()
	var names []string
	for tool, err := range cs.Tools(Patient(t), nil) {
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, tool.Name)
	}
	return names
}

// Said returns the text of a call's result.
func Said(t *testing.T, cs *mcp.ClientSession, name string, args any) string {
	t.Helper()
	res, err := cs.CallTool(Patient(t), &mcp.CallToolParams{Name: name, Arguments: args})
	if err != nil {
		return "error: " + err.Error()
	}
	if len(res.Content) == 0 {
		return ""
	}
	return res.Content[0].(*mcp.TextContent).Text
}

// Raw is a client that writes and reads lines.
type Raw struct {
	t   *testing.T
	In  io.Writer
	Out *bufio.Scanner
}

// NewRaw returns a client that speaks over a pipe.
func NewRaw(t *testing.T, tr *mcp.IOTransport) *Raw {
	c := &Raw{t, tr.Writer, bufio.NewScanner(tr.Reader)}
	c.Out.Buffer(nil, 64<<20)
	return c
}

// Say writes a line.
func (c *Raw) Say(line string) {
	c.t.Helper()
	if _, err := io.WriteString(c.In, line+"\n"); err != nil {
		c.t.Fatal(err)
	}
}

// Until reads up to a line that contains a text, and returns all lines.
func (c *Raw) Until(text string) (lines []string) {
	c.t.Helper()
	for c.Out.Scan() {
		lines = append(lines, c.Out.Text())
		if strings.Contains(c.Out.Text(), text) {
			return lines
		}
	}
	c.t.Fatalf("%s did not come, only %.2000q", text, lines)
	return nil
}

// Next returns the next line.
func (c *Raw) Next() string { return Last(c.Until("")) }

// Last returns the last of some lines.
func Last(lines []string) string { return lines[len(lines)-1] }

// ModernMeta returns the metadata of the client in a request of 2026-07-28.
func ModernMeta(caps, more string) string {
	return `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"raw","version":"1"},"io.modelcontextprotocol/clientCapabilities":` + caps + more + `}`
}

// MustAsk is the reason of a rule that requires a question about a call.
const MustAsk = "must be asked by rule 1 (ask tool e*)"

// WellFormedTools lists the names of the tools that a client gets, and fails if an input schema
// does not describe an object.
func WellFormedTools(t *testing.T, cs *mcp.ClientSession) (names []string) {
	t.Helper()
	for tool, err := range cs.Tools(Patient(t), nil) {
		if err != nil {
			t.Fatal(err)
		}
		if schema, ok := tool.InputSchema.(map[string]any); !ok || schema["type"] != "object" {
			t.Errorf("the input schema of %s is %v", tool.Name, tool.InputSchema)
		}
		names = append(names, tool.Name)
	}
	return names
}
