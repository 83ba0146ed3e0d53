package terminal

import (
	"bufio"
	"errors"
	"fmt"
	"strings"

	"dragoman/cmd/internal/program"
)

// Confirm asks a person at the terminal a question. If nobody is there the answer is not a yes.
func Confirm(p *program.Environment, question string) (bool, error) {
	if !Is(p.In) {
		return false, errors.New(
			"this needs your approval, and there is no terminal to ask at; --yes approves without asking",
		)
	}
	fmt.Fprintf(p.Out, "%s [y/N] ", question)
	line, err := bufio.NewReader(p.In).ReadString('\n')
	if err != nil && line == "" {
		fmt.Fprintln(p.Out)
		return false, nil
	}
	answer := strings.ToLower(strings.TrimSpace(line))
	return answer == "y" || answer == "yes", nil
}
