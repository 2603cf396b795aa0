package command

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"golang.org/x/term"
)

// The max width of help in characters, and its width where the output is no terminal.
const maxHelp, pipedHelp = 100, 80

// Width returns the width of a terminal in characters, 0 if w is none.
func Width(w io.Writer) int {
	f, ok := w.(*os.File)
	if !ok {
		return 0
	}
	width, _, err := term.GetSize(int(f.Fd()))
	if err != nil {
		return 0
	}
	return width
}

func init() { cobra.EnableCommandSorting = false } // groups have their commands in the order of use

// printHelp writes the help of a command, no wider than the terminal.
func printHelp(cmd *cobra.Command, _ []string) {
	w := cmd.OutOrStdout()
	_, _ = io.WriteString(w, helpText(cmd, min(cmp.Or(Width(w), pipedHelp), maxHelp))) // an error has nowhere to go
}

// helpText returns the help of a command: what it does, usage, examples, subcommands and flags, and of a root what
// holds for every command.
func helpText(cmd *cobra.Command, width int) string {
	var b strings.Builder
	b.WriteString(reflow(cmp.Or(cmd.Long, cmd.Short), width) + "\n")
	section := func(title, text string) {
		if text = strings.TrimRight(text, " \n"); text != "" {
			fmt.Fprintf(&b, "\n%s:\n%s\n", strings.TrimSuffix(title, ":"), text)
		}
	}
	section("Usage", usage(cmd))
	if len(cmd.Aliases) > 0 {
		section("Aliases", "  "+strings.Join(cmd.Aliases, ", "))
	}
	section("Examples", cmd.Example)
	rest := "Commands"
	for _, g := range cmd.Groups() {
		section(g.Title, listOf(cmd, g.ID, width))
		rest = "Other"
	}
	section(rest, listOf(cmd, "", width))
	section("Flags", cmd.LocalFlags().FlagUsagesWrapped(width))
	section("Global flags", cmd.InheritedFlags().FlagUsagesWrapped(width))
	if !cmd.HasParent() {
		section("Environment", strings.Join([]string{
			hanging("SPDL_NAME  ", "the flag --name of any command, as SPDL_NODE for --node", width),
			hanging("NO_COLOR   ", "if it is set, no colours", width)}, "\n"))
		section("Exit codes", fmt.Sprintf("  0  done\n  %d  failed\n  %d  wrong use\n  %d  the node did not answer\n"+
			"  %d  the chain is of another version than this program", Failure, WrongUse, Unreachable, Upgrade))
	}
	if cmd.HasAvailableSubCommands() {
		fmt.Fprintf(&b, "\n%s COMMAND --help shows the flags and examples of a command.\n", cmd.CommandPath())
	}
	return b.String()
}

// usage returns the forms of a command line. A group without a subcommand prints its help, which is no use.
func usage(cmd *cobra.Command) (lines string) {
	if !cmd.HasAvailableSubCommands() || cmd.PreRunE != nil {
		lines = "  " + cmd.UseLine() + "\n"
	}
	if cmd.HasAvailableSubCommands() {
		lines += "  " + cmd.CommandPath() + " COMMAND [flags]"
	}
	return lines
}

// listOf returns a line for each subcommand in a group.
func listOf(cmd *cobra.Command, group string, width int) string {
	longest := 0
	for _, sub := range cmd.Commands() {
		longest = max(longest, len(sub.Name()))
	}
	var lines []string
	for _, sub := range cmd.Commands() {
		if sub.GroupID == group && (sub.IsAvailableCommand() || sub.Name() == "help") {
			lines = append(lines, hanging(fmt.Sprintf("%-*s  ", longest, sub.Name()), sub.Short, width))
		}
	}
	return strings.Join(lines, "\n")
}

// hanging returns a term with a text that is wrapped beside it.
func hanging(term, text string, width int) string {
	indent := 2 + len(term)
	text = reflow(text, max(1, width-indent))
	return "  " + term + strings.ReplaceAll(text, "\n", "\n"+strings.Repeat(" ", indent))
}

// reflow breaks the paragraphs of a text at a width. A line that begins with a space or a tab stays as it is.
func reflow(text string, width int) string {
	var out []string
	open := false // the last line of out takes more words
	for line := range strings.SplitSeq(strings.TrimRight(text, "\n"), "\n") {
		if line == "" || line[0] == ' ' || line[0] == '\t' {
			out, open = append(out, line), false
			continue
		}
		for _, word := range strings.Fields(line) {
			last := len(out) - 1
			if open && utf8.RuneCountInString(out[last])+1+utf8.RuneCountInString(word) <= width {
				out[last] += " " + word
				continue
			}
			out, open = append(out, word), true
		}
	}
	return strings.Join(out, "\n")
}
