package trainer

import "strings"

// Argv returns the program and the arguments of a command line: the words between spaces.
// No shell reads it, so that nothing in it has a meaning but the spaces.
func Argv(line string) []string { return strings.Fields(line) }
