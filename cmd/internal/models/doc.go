// Package models finds the language models of a configuration.
//
// # What holds
//
//   - The network is not used before a request: models are known from the configuration, the
//     environment and the catalogue of core/llm.
//   - Keys, and headers that programs print, are looked up with each request. No text contains
//     them.
//   - A provider with unusable settings affects only its own models.
package models
