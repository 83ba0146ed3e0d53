// Package secrets keeps the keys and logins that people give to the program.
//
// # What holds
//
//   - What was given stands in one file for each thing, for its owner's eyes, and encrypted
//     where a keyring works. No message or list shows it, and no agent's call reads the file.
//   - What is kept is listed without the keyring. It is asked by a child that is killed when
//     it does not answer, once in a process, when a secret is wanted for the first time.
//   - Several processes may change the same file: each holds its lock from reading to writing.
//   - A file that this version does not understand is left as it is, and its text is in no
//     message.
//   - A program that prints a key runs without a shell, when the key is wanted, and ends with
//     all that it has started.
package secrets
