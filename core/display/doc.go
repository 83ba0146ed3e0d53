// Package display prepares text from models, servers, clients and files for people to read.
//
// # What holds
//
//   - Two different texts never look the same after [Visible] or [VisibleLines]: invisible
//     characters are spelled out, and so are the signs that spell them.
//   - A text is never cut within a character, and a sign or a note marks every cut, unless
//     the caller adds its own.
//   - Prose, which is read but not approved, keeps the blanks of every script. Its hidden
//     characters are replaced for a terminal ([Printable]), left out of servers' texts
//     ([Seen], [Plain]), and reported in guides.
//   - Secrets are recognised by name ([SecretName]), since nothing else is known of an
//     argument, a variable or a header.
//   - Errors of HTTP clients are shown without the address ([WithoutURL]), which may contain
//     a key.
//
// # Why
//
// A person who approves a call decides by the text on the screen. A character without a
// width, one that reverses the direction of the text around it, or fifty blanks before the
// important part make a harmful line look harmless. One package decides what is visible, so
// that all clients, logs and terminals agree.
package display
