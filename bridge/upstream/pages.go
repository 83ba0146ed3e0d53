package upstream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"dragoman/adapters/wire"
	"dragoman/core/jsonscan"
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

// pageOf decodes the response to a request for a page, which is known to be JSON. The items share
// its memory.
func pageOf(
	result json.RawMessage,
	method, field string,
) (items []json.RawMessage, next string, err error) {
	var list, cursor json.RawMessage
	page := jsonscan.MembersOf(result, wire.MaxDepth)
	for err == nil && page.Next() {
		switch string(jsonscan.Unescaped(page.Key)) {
		case field:
			list, err = only(list, page.Val, field)
		case "nextCursor":
			cursor, err = only(cursor, page.Val, "nextCursor")
		}
	}
	switch {
	case err != nil:
	case page.Bad && string(result) != "null":
		err = errors.New("expected an object")
	case list != nil && string(list) != "null":
		items, err = elementsOf(list)
	}
	if err != nil {
		return nil, "", fmt.Errorf("the answer to %s: %v", method, err)
	}
	return items, jsonscan.Text(cursor), nil // a cursor that is not a text is ignored
}

// only returns the value of a member; an error if the object has it twice.
func only(before, value json.RawMessage, name string) (json.RawMessage, error) {
	if before != nil {
		return nil, fmt.Errorf("duplicate member %q", name)
	}
	return value, nil
}

// elementsOf returns the elements of a list.
func elementsOf(list json.RawMessage) ([]json.RawMessage, error) {
	items := []json.RawMessage{}
	all := jsonscan.ElementsOf(list, wire.MaxDepth)
	for all.Next() {
		items = append(items, all.Val)
	}
	if all.Bad {
		return nil, errors.New("expected an array")
	}
	return items, nil
}
