package trainer

import "strings"

// Argv returns the program and the arguments of a command line: the words between spaces. No shell
// reads the line, so quotes and variables have no meaning.
func Argv(line string) []string { return strings.Fields(line) }
