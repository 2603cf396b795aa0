package trainer

import "strings"

// Argv splits a command line at its spaces into the program and its arguments. No shell reads the
// line, so quotes and variables have no meaning.
func Argv(line string) []string { return strings.Fields(line) }
