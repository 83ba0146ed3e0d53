// Package tokens keeps the bearer tokens of MCP clients over HTTP.
//
// There are two kinds. Each client can have a token of its own, with a name, rights and an end
// ([Store.Create]); and there is the main token, which has all rights and no end ([Store.Main]).
//
// # What holds
//
//   - A token has 260 random bits. Those of clients are stored as SHA-256 checksums, which suffices for
//     random tokens, and are shown once, when they are made. No error and no list contains one.
//   - Both files are in the data folder, for their owner only. One that others can read, or that this
//     version does not understand, admits nobody: a later version may restrict a token in a
//     way that this one does not know.
//   - [Store.Admit] checks at each call whether the files have changed. A token that was revoked, or has
//     expired, is refused from then on, in a process that runs already, too.
//   - Admit compares the token with every stored one, in a time that does not depend on them. Whether
//     a token has expired is looked at only after it was found, so only its holder learns that.
package tokens
