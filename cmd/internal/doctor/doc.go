// Package doctor looks for problems that keep dragoman from working on a machine.
//
// # What holds
//
//   - Nothing is changed: files that are created for a test are removed.
//   - The network is not used, and no key is shown. PrintAgents alone starts external agents, which
//     use the network as they like.
//   - A warning does not count as a problem.
package doctor
