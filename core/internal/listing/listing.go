// Package listing sorts lists of sessions whose items may have changed since they were listed.
package listing

import (
	"errors"
	"iter"
	"slices"
)

// Order compares two items: negative if the first one comes first, 0 if they are at the same place.
type Order[S any] func(a, b S) int

// Sorted returns the items of a list that are selected, in order, and then the list's errors as one.
func Sorted[S any](list iter.Seq2[S, error], selected func(S) bool, by Order[S]) iter.Seq2[S, error] {
	return func(yield func(S, error) bool) {
		var all []S
		var errs []error
		for s, err := range list {
			if err != nil {
				errs = append(errs, err)
			} else if selected(s) {
				all = append(all, s)
			}
		}
		slices.SortFunc(all, by)
		for _, s := range all {
			if !yield(s, nil) {
				return
			}
		}
		if len(errs) > 0 {
			yield(*new(S), errors.Join(errs...))
		}
	}
}

// Now returns a list with its items as they are now, in their old places. Errors are passed on.
func Now[S any](list iter.Seq2[S, error], now func(S) S) iter.Seq2[S, error] {
	return func(yield func(S, error) bool) {
		for s, err := range list {
			if err == nil {
				s = now(s)
			}
			if !yield(s, err) {
				return
			}
		}
	}
}

// Placed returns a list in order with its items as they are now. One that comes later now is yielded in its
// new place. now returns false for an item that is not in the list any more. Errors are passed on.
func Placed[S any](list iter.Seq2[S, error], now func(S) (S, bool), by Order[S]) iter.Seq2[S, error] {
	return func(yield func(S, error) bool) {
		var held []S // their places are still to come
		for s, err := range list {
			for len(held) > 0 && (err != nil || by(held[0], s) < 0) {
				if !yield(held[0], nil) {
					return
				}
				held = held[1:]
			}
			if err != nil {
				if !yield(s, err) {
					return
				}
				continue
			}
			is, in := now(s)
			switch {
			case !in:
			case by(s, is) < 0:
				i, _ := slices.BinarySearchFunc(held, is, by)
				held = slices.Insert(held, i, is)
			case !yield(is, nil):
				return
			}
		}
		for _, s := range held {
			if !yield(s, nil) {
				return
			}
		}
	}
}
