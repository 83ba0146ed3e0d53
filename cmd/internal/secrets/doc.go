// Package secrets stores the keys and logins that people give to the program.
//
// # What holds
//
//   - Each kind of secret has a file of its own, readable only by its owner, and encrypted if
//     a keyring works. No message or list shows a secret, and no agent's call reads the file.
//   - Listing the names needs no keyring. A child process asks the keyring and is killed if it
//     does not answer. It is asked once in a process, when a secret is first needed.
//   - Several processes may change the same file: each holds its lock from reading to writing.
//   - A file that this version does not understand is not touched, and its text is in no
//     message.
//   - A program that prints a key runs without a shell, when the key is needed, and ends with
//     all its child processes.
package secrets
