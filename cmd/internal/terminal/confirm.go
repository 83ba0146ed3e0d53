package terminal

import (
	"bufio"
	"errors"
	"fmt"
	"strings"

	"dragoman/cmd/internal/program"
)

// Confirm puts a question to a person at the terminal. Nobody there is not a yes.
func Confirm(p *program.Environment, question string) (bool, error) {
	if !Is(p.In) {
		return false, errors.New("nobody is at the terminal to be asked; --yes agrees without being asked")
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
