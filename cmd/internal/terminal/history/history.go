// Package history keeps the prompts that were typed in chats.
//
// # What holds
//
//   - The prompts are in one file, which only this user can read. Chats that run at once add to
//     it and lose nothing.
//   - It keeps the newest 500 prompts, and at most 256 KiB of them. A prompt of more than 16 KiB is
//     not kept.
//   - A prompt that begins with a blank is not kept, as in shells.
package history

import (
	"context"
	"path/filepath"
	"slices"
	"strings"

	"dragoman/core/datadir"
)

// Limits of the file.
const (
	maxPrompts = 500
	maxBytes   = 256 << 10
	maxPrompt  = 16 << 10
)

// History is the list of prompts in a folder.
type History struct {
	file *datadir.Document[[]string]
	all  []string // the list of this chat: what was read, and what was added since
}

// In returns the history in the data folder. Nothing is read yet.
func In(folder string) *History {
	return &History{file: &datadir.Document[[]string]{Path: filepath.Join(folder, "chat-history.json"), Max: 4 * maxBytes}}
}

// Load reads the prompts of earlier chats.
func (h *History) Load() error {
	list, err := h.file.Read()
	h.all = slices.Clone(list)
	return err
}

// Prompts returns the prompts, the newest last.
func (h *History) Prompts() []string { return h.all }

// Add adds a prompt. With an error it is added for this chat alone.
func (h *History) Add(ctx context.Context, prompt string) error {
	if prompt == "" || len(prompt) > maxPrompt || strings.HasPrefix(prompt, " ") {
		return nil
	}
	h.all = with(h.all, prompt)
	return h.file.Change(ctx, func(list []string) ([]string, error) {
		return with(slices.Clone(list), prompt), nil
	})
}

// with returns the list with a prompt at its end, within the limits. An earlier copy is removed.
func with(list []string, prompt string) []string {
	list = append(slices.DeleteFunc(list, func(p string) bool { return p == prompt }), prompt)
	list = list[max(0, len(list)-maxPrompts):]
	size := 0
	for i, p := range slices.Backward(list) {
		if size += len(p); size > maxBytes {
			return list[i+1:]
		}
	}
	return list
}
