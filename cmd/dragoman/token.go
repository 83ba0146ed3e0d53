package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"dragoman/cmd/internal/program"
	"dragoman/cmd/internal/tokens"
	"dragoman/configs"
	"dragoman/core/access"
)

func (a *app) token() *cobra.Command {
	return group(&cobra.Command{
		Use:   "token",
		Short: "Create, list and revoke tokens of MCP clients over HTTP",
		Long: `Create, list and revoke tokens for clients of "dragoman mcp --http". Each client should have its
own: what it does is recorded under the token's name, it can be revoked alone, and no client
can use the connections or answer the questions of another. A running server notices changes at
once. Rights, separated by commas, limit a token:

  watch   list and read sessions
  prompt  start sessions, prompt, and stop turns in sessions that it started or prompted
  answer  answer approvals and questions in sessions that it started or prompted, and lend its
          model; without it nothing is put to the client, so what needs an approval is rejected
          unless another client can be asked
  act     see and call the tools of the configured MCP servers, close sessions, delete those
          that it started or prompted, and stop any turn

Only checksums are stored, in mcp-tokens.json in the data folder. If others can read that file, or
it is damaged, none of these tokens is valid. The token of "dragoman mcp --show-token" has all
rights and is not listed.`,
		Example: `  dragoman token create laptop
  dragoman token create phone --rights watch --expires 30d
  dragoman token list
  dragoman token revoke phone`,
	}, a.tokenCreate(), a.tokenList(), a.tokenRevoke())
}

// tokens opens the tokens of MCP clients.
func (a *app) tokens() (*tokens.Store, error) {
	dir, err := a.DataDir()
	if err != nil {
		return nil, err
	}
	return tokens.Open(dir), nil
}

// showMainToken prints the token that has all rights.
func (a *app) showMainToken() error {
	kept, err := a.tokens()
	if err != nil {
		return err
	}
	token, _, err := kept.Main()
	if err == nil {
		_, err = fmt.Fprintln(a.Out, token)
	}
	return err
}

func (a *app) tokenCreate() *cobra.Command {
	var rights, expires string
	cmd := &cobra.Command{
		Use:   "create NAME",
		Short: "Create a token for an MCP client, and print it once",
		Long: `Create a token for an MCP client, and print it to standard output. It is shown only now. The
client sends it as the header "Authorization: Bearer TOKEN". What the client does is recorded under
NAME, which may have letters, digits, dots, hyphens and underscores.`,
		Example: `  dragoman token create laptop
  dragoman token create phone --rights watch,prompt,answer --expires 30d`,
		Args: exactly(1),
		RunE: a.begin(func(ctx context.Context, args []string) error {
			allowed, err := access.Parse(rights)
			if err != nil {
				return program.UsageError{Err: fmt.Errorf("--rights: %w", err)}
			}
			until, err := expiry(expires, time.Now())
			if err != nil {
				return program.UsageError{Err: fmt.Errorf("--expires: %w", err)}
			}
			kept, err := a.tokens()
			if err != nil {
				return err
			}
			secret, t, err := kept.Create(ctx, args[0], allowed, until)
			if err != nil {
				return err
			}
			fmt.Fprintf(a.Err, "The token %q (%s) has the rights %v. Its end: %s. It is shown only now:\n", t.Name, t.ID, t.Rights, ending(t, time.Now()))
			_, err = fmt.Fprintln(a.Out, secret)
			return err
		}),
	}
	cmd.Flags().StringVar(&rights, "rights", "watch,prompt", "the `RIGHTS` of the client: watch, prompt, answer, act, separated by commas")
	cmd.Flags().StringVar(&expires, "expires", "", "the `TIME` until the token ends, such as 30d or 12h (default: it never ends)")
	return cmd
}

func (a *app) tokenList() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the tokens of MCP clients, without the tokens themselves",
		Long: `List the tokens of MCP clients, the oldest first: name, id, rights, when it was created and when it
ends. The tokens themselves are not stored. --json prints one object per line.`,
		Example: "  dragoman token list\n  dragoman token list --json | jq -r .name",
		Args:    none,
		RunE: a.begin(func(context.Context, []string) error {
			kept, err := a.tokens()
			if err != nil {
				return err
			}
			list, err := kept.List()
			if err != nil {
				return err
			}
			if asJSON {
				return a.listTokensJSON(list)
			}
			return a.listTokens(list, time.Now())
		}),
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object per line")
	return cmd
}

// listedToken is a token in the JSON list.
type listedToken struct {
	Name    string        `json:"name"`
	ID      string        `json:"id"`
	Rights  access.Rights `json:"rights"`
	Created time.Time     `json:"created"`
	Expires time.Time     `json:"expires,omitzero"`
	Expired bool          `json:"expired,omitempty"`
}

func (a *app) listTokensJSON(list []tokens.Token) error {
	enc := json.NewEncoder(a.Out)
	for _, t := range list {
		if err := enc.Encode(listedToken{t.Name, t.ID, t.Rights, t.Created, t.Expires, t.Expired(time.Now())}); err != nil {
			return err
		}
	}
	return nil
}

func (a *app) listTokens(list []tokens.Token, now time.Time) error {
	if len(list) == 0 {
		fmt.Fprintln(a.Err, "There are no tokens. \"dragoman token create NAME\" makes one.")
		return nil
	}
	w := tabwriter.NewWriter(a.Out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "NAME\tID\tRIGHTS\tCREATED\tENDS")
	for _, t := range list {
		fmt.Fprintf(w, "%s\t%s\t%v\t%s\t%s\n", t.Name, t.ID, t.Rights, t.Created.Local().Format(time.DateOnly), ending(t, now))
	}
	return w.Flush()
}

// ending says when a token ends.
func ending(t tokens.Token, now time.Time) string {
	switch at := t.Expires.Local().Format("2006-01-02 15:04"); {
	case t.Expires.IsZero():
		return "never"
	case t.Expired(now):
		return at + " (expired)"
	default:
		return at
	}
}

func (a *app) tokenRevoke() *cobra.Command {
	return &cobra.Command{
		Use:   "revoke NAME|ID",
		Short: "Revoke a token of an MCP client",
		Long: `Revoke a token of an MCP client. It is refused from now on, also by a running server, which ends the
client's open requests and streams within seconds.`,
		Example:           "  dragoman token revoke phone",
		Args:              exactly(1),
		ValidArgsFunction: a.completeTokens,
		RunE: a.begin(func(ctx context.Context, args []string) error {
			kept, err := a.tokens()
			if err != nil {
				return err
			}
			gone, err := kept.Revoke(ctx, args[0])
			if err == nil {
				fmt.Fprintf(a.Err, "The token %q (%s) is revoked.\n", gone.Name, gone.ID)
			}
			return err
		}),
	}
}

// completeTokens offers names of tokens to a shell.
func (a *app) completeTokens(_ *cobra.Command, args []string, begun string) (names []string, _ cobra.ShellCompDirective) {
	kept, err := a.tokens()
	if err != nil || len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	list, _ := kept.List() // a shell shows no errors during completion
	for _, t := range list {
		if strings.HasPrefix(t.Name, begun) {
			names = append(names, t.Name)
		}
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}

// maxDays limits the life of a token that ends.
const maxDays = 36500

// expiry reads the time until a token ends. Empty: it never ends, and the result is zero.
func expiry(text string, now time.Time) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	d, err := configs.ParseDuration(text)
	if err != nil || d < time.Second || d > maxDays*24*time.Hour {
		return time.Time{}, fmt.Errorf("%q is not a time until the token ends, such as 30d or 12h", text)
	}
	return now.Add(d), nil
}
