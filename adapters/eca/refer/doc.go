// Package refer resolves the references of an ECA client: folders and files by their URIs, and in
// a prompt the contexts and the words after an at sign. Contexts stay in the client's view from one
// prompt to the next: they become the prompt's core.Context, and are read again only after a
// change. Mentions are a part of the message. An unreadable
// reference is reported to the agent, and a forbidden one to the user as well. The package also
// lists the possible references of a prompt.
package refer
