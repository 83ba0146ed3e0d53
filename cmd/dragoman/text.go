package main

import "dragoman/core/display"

// What others wrote is shown as display shows it.
var (
	printable  = display.Printable
	oneLine    = display.Line
	firstLines = display.FirstLines
	indented   = display.Indented
	counted    = display.Counted
)
