// Package board shows the state outside of sessions' logs: the current models, agents,
// servers, sessions and jobs.
//
// # What holds
//
//   - A reader that was away gets the newest value of each topic once, in the order of
//     the changes, for any number of changes.
//   - The board forgets the oldest topics of the kinds whose number grows with time:
//     sessions, their commands, and removed items. The current topics of all other
//     kinds stay.
//   - Its one lock is a leaf: it is never held across a callback, a channel or another lock.
//
// # Why
//
// Sessions have logs because their history counts. Of lists of models only the current
// one counts, so a board keeps no history. It is not a part of core because no turn
// needs it: the program gives its gateway a board as core.Config.Listing, and gives
// the same board to the tools that post on it and to the adapters that show it.
package board
