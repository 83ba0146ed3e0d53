// Package display shows people what others wrote: models, servers, clients, files.
//
// # What holds
//
//   - Two different texts never look the same once they went through [Visible] or
//     [VisibleLines]: what cannot be seen is named, and so are the signs that name it.
//   - A text is never cut within a character, and where something is left out a sign or a
//     note says so, unless the caller adds its own.
//   - Prose, which is read and not decided about, keeps the blanks of every script. What hides
//     in it is replaced for a terminal ([Printable]), left out of what servers say ([Seen],
//     [Plain]), and named in guides, whose authors are told.
//   - Secrets go by their names ([SecretName]), since nothing else is known of an argument, a
//     variable or a header.
//   - What an HTTP client says of a failure is shown without the address ([WithoutURL]), which
//     may hold a key.
//
// # Why
//
// A person who allows a call decides by what is shown. A character without a width, one that
// turns the direction of the text around it, or fifty blanks in front of the part that
// matters make a harmless line of a harmful one. One package decides what can be seen, so
// that no client, log or terminal falls behind the others.
package display
