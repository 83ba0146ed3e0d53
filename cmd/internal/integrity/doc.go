// Package integrity notices when the program of an external agent has changed.
//
// # What holds
//
//   - What was installed by us is compared with its manifest, every file of it; of another command the
//     program's file counts, or the script's if an interpreter runs it.
//   - A start of what has not changed reads no file of it: paths, sizes, modes and times are compared. On
//     Linux the time of the last change of anything counts, which a program cannot set.
//   - The first start of a command records it. After that a change is used only after a person has agreed
//     to it, once. Where no person is asked, the agent is not started.
//   - What was agreed to is what is recorded: if it changes again while somebody is asked, it is
//     asked about again.
//   - A record that cannot be read is an error, and no agreement.
//
// # Locks and goroutines
//
// There are no goroutines. Of several starts of one agent at the same time one asks; the others wait
// for it.
package integrity
