package upstream

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"dragoman/adapters/wire"
)

// The limits of a list.
const (
	maxPages = 1000
	maxItems = 20000
)

// askPage asks a server for one page of a list, the first with the cursor "".
type askPage func(ctx context.Context, cursor string) (json.RawMessage, error)

// eachPage asks for all pages of a list. take gets the items of each, and returns the total so
// far. A repeated cursor ends the list.
func eachPage(
	ctx context.Context,
	method, field string,
	ask askPage,
	take func(items []json.RawMessage) int,
) error {
	seen := map[string]bool{}
	for cursor := ""; ; {
		result, err := ask(ctx, cursor)
		if err != nil {
			return err
		}
		items, next, err := pageOf(result, method, field)
		if err != nil {
			return err
		}
		if take(items) >= maxItems || next == "" || seen[next] || len(seen) >= maxPages {
			return nil
		}
		seen[next] = true
		cursor = next
	}
}

// pageOf decodes the response to a request for a page.
func pageOf(
	result json.RawMessage,
	method, field string,
) (items []json.RawMessage, next string, err error) {
	page := map[string]json.RawMessage{}
	if err = wire.Unmarshal(result, &page); err == nil {
		err = once(result, field, "nextCursor")
	}
	if list := page[field]; err == nil && list != nil {
		err = wire.Unmarshal(list, &items)
	}
	if err != nil {
		return nil, "", fmt.Errorf("the answer to %s: %v", method, err)
	}
	_ = json.Unmarshal(page["nextCursor"], &next) // a value that is not a text is ignored
	return items, next, nil
}

// once returns an error if an object has one of these members twice.
func once(object json.RawMessage, names ...string) error {
	seen := map[string]bool{}
	for key := range wire.Members(object) {
		if name := string(key); slices.Contains(names, name) {
			if seen[name] {
				return fmt.Errorf("duplicate member %q", name)
			}
			seen[name] = true
		}
	}
	return nil
}
