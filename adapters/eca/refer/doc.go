// Package refer finds what an ECA client refers to: folders and files by their URIs, and
// in a prompt the contexts and the words behind an at sign, which become blocks. What
// cannot be read says so to the agent, and what a rule forbids to the user as well. It also
// lists what a prompt can refer to.
package refer
