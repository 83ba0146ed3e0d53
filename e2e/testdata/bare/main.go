// Command bare links the libraries that dragoman links, answers one line with one
// line and ends with its input: what a start costs at the least.
package main

import (
	"bufio"
	"fmt"
	"os"

	udiff "github.com/aymanbagabas/go-udiff"
	"github.com/bmatcuk/doublestar/v4"
	acp "github.com/coder/acp-go-sdk"
	"github.com/creachadair/jrpc2"
	"github.com/creachadair/jrpc2/handler"
	yaml "github.com/goccy/go-yaml"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/spf13/cobra"
	"go.uber.org/zap"
	"mvdan.cc/sh/v3/syntax"
)

// linked keeps the linker from leaving the libraries out.
var linked = []any{
	acp.NewAgentSideConnection, mcp.NewServer, jrpc2.NewServer, handler.Map{}, yaml.Unmarshal, zap.NewProduction, doublestar.Match,
	udiff.Unified, syntax.NewParser,
}

func main() {
	cmd := &cobra.Command{Use: "bare", Args: cobra.ArbitraryArgs, RunE: func(*cobra.Command, []string) error {
		in := bufio.NewReader(os.Stdin)
		if _, err := in.ReadString('\n'); err != nil {
			return fmt.Errorf("read a line for %d libraries: %w", len(linked), err)
		}
		if _, err := os.Stdout.WriteString("{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n"); err != nil {
			return err
		}
		_, err := in.ReadByte()
		_ = err // the end of the input, as it should be
		return nil
	}}
	if cmd.Execute() != nil {
		os.Exit(1)
	}
}
