package program

import (
	"os/exec"
	"runtime"
)

// OpenBrowser opens a checked address, without a shell. The browser continues when we end.
func OpenBrowser(address string) error {
	words := map[string][]string{"darwin": {"open"}, "windows": {"rundll32", "url.dll,FileProtocolHandler"}}[runtime.GOOS]
	if words == nil {
		words = []string{"xdg-open"}
	}
	cmd := exec.Command(words[0], append(words[1:], address)...)
	if err := cmd.Start(); err != nil {
		return err
	}
	go cmd.Wait() //nolint:errcheck // it ends when the browser does, or we do
	return nil
}
