package trainer

import "strings"

// Argv returns the program and the arguments of a command line: the words between spaces. No shell
// reads it, so only the spaces have a meaning.
func Argv(line string) []string { return strings.Fields(line) }
