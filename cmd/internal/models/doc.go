// Package models finds the language models that a configuration names.
//
// # What holds
//
//   - Nobody is asked over the network before a request: what is known comes from the
//     configuration, the environment and the catalogue of core/llm.
//   - Keys, and headers that programs print, are looked up with each request. No text holds them.
//   - A provider whose settings cannot be used breaks its own models alone.
package models
