// Package models finds the language models of a configuration.
//
// # What holds
//
//   - The network is not used before a request or [Finder.Ask]: models are known from the
//     configuration, the environment, the catalogue of core/llm and the kept lists of services.
//   - Only services are asked for their lists whose address the user has chosen, or that are
//     programs on this machine and named in the configuration: with their own key, at their own
//     address, at most once a day, and 15 minutes after a failure. A key or a header that a program
//     prints is looked up only for a person who waits for the list. What the user describes counts
//     more than such a list.
//   - Keys, and headers that programs print, are looked up with each request. No text contains
//     them.
//   - A provider with unusable settings affects only its own models.
package models
