// Package refer resolves the references of an ECA client: folders and files by their URIs, and in
// a prompt the contexts and the words after an at sign, which become blocks. An unreadable
// reference is reported to the agent, and a forbidden one to the user as well. The package also
// lists the possible references of a prompt.
package refer
