package terminal

import (
	"os"

	"golang.org/x/sys/windows"
)

// hideInput keeps a console from showing the typed text, until restore is called.
func hideInput(f *os.File) (restore func(), err error) {
	h := windows.Handle(f.Fd())
	var was uint32
	if err := windows.GetConsoleMode(h, &was); err != nil {
		return nil, err
	}
	hidden := was&^windows.ENABLE_ECHO_INPUT | windows.ENABLE_LINE_INPUT | windows.ENABLE_PROCESSED_INPUT
	if err := windows.SetConsoleMode(h, hidden); err != nil {
		return nil, err
	}
	return func() { _ = windows.SetConsoleMode(h, was) }, nil // the console may be gone
}

// dropInput drops input of a console that has not been read.
func dropInput(f *os.File) {
	_ = windows.FlushConsoleInputBuffer(windows.Handle(f.Fd())) // the console may be gone
}
