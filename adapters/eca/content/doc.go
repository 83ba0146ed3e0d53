// Package content makes parts of ECA's contents from what a log holds: the changes, the commands and
// the JSON of calls, and the usage of models.
package content
