// Package board shows what belongs to no session: which models, agents, servers, sessions and
// jobs there are now.
//
// # What holds
//
//   - A reader that was away gets the newest value of each topic once, in the order of the
//     changes, however often it changed.
//   - The board forgets the oldest of what time multiplies, which are sessions and things that
//     are gone. What there is now of everything else stays.
//   - Its one lock is a leaf: it is never held across a callback, a channel or another lock.
//
// # Why
//
// Sessions have logs because their history counts. Of a list of models only the present one
// counts, so a board keeps no history. It stands outside of core because no turn needs it: who
// makes a gateway gives it a board as core.Config.Listing, and gives the same board to the tools
// that post on it and to the adapters that show it.
package board
