package command

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/spdl/spdl/abci/client"
	"github.com/spdl/spdl/abci/home"
	"github.com/spdl/spdl/abci/node"
	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/internal/spelling"
)

// The exit codes.
const (
	Failure     = 1                // failed; also where a named file, folder or program is not there
	WrongUse    = 2                // wrong use: a command, flag, variable, key, manifest or file of parameters
	Unreachable = 3                // the node did not answer
	Upgrade     = node.ExitVersion // another version of the state machine executes the chain: another release is needed
)

// UsageError is wrong use of the command line.
type UsageError struct{ error }

func (e UsageError) Unwrap() error { return e.error }

// Usage returns an error that is wrong use of the command line, nil for nil.
func Usage(err error) error {
	if err == nil {
		return nil
	}
	return UsageError{err}
}

// Exit returns the exit code of an error.
func Exit(err error) int {
	var usage UsageError
	switch {
	case err == nil:
		return 0
	case absent(err) != nil || errors.Is(err, exec.ErrNotFound):
		return Failure
	case errors.As(err, &usage) || errors.Is(err, home.ErrConfig):
		return WrongUse
	case errors.Is(err, client.ErrUnreachable):
		return Unreachable
	case errors.Is(err, node.ErrVersion) || errors.Is(err, app.ErrVersion):
		return Upgrade
	}
	return Failure
}

// printError writes an error of a program to standard error: as a line, or with -o json as a line with a JSON object.
func printError(w io.Writer, program string, args []string, err error) {
	text := Plain(TextOf(err))
	if !wantsJSON(args) {
		fmt.Fprintf(w, "%s: %s\n", program, text)
		return
	}
	said := struct {
		Error string `json:"error"`
		Exit  int    `json:"exit"`
		Code  uint32 `json:"code,omitempty"` // the application's, if it rejected the request
	}{Error: text, Exit: Exit(err)}
	var refusal *client.Refusal
	if errors.As(err, &refusal) {
		said.Code = refusal.Code
	}
	_ = json.NewEncoder(w).Encode(said) // an error here has nowhere to go
}

// absent returns the error about a missing file in err, or nil.
func absent(err error) *fs.PathError {
	var file *fs.PathError
	if errors.As(err, &file) && errors.Is(file, fs.ErrNotExist) {
		return file
	}
	return nil
}

// TextOf returns the text of an error. All errors about a missing file have the same form, and so have those about a
// file in place of a folder, and the reverse.
func TextOf(err error) string {
	var file *fs.PathError
	if !errors.As(err, &file) {
		return err.Error()
	}
	fault := file.Error()
	switch {
	case errors.Is(file, fs.ErrNotExist):
		fault = "there is no file " + file.Path
		if _, err := os.Stat(filepath.Dir(file.Path)); errors.Is(err, fs.ErrNotExist) {
			fault = "there is no folder " + filepath.Dir(file.Path)
		}
	case errors.Is(file, syscall.EISDIR):
		fault = file.Path + " is a folder, want a file"
	case errors.Is(file, syscall.ENOTDIR):
		fault = inTheWay(file.Path) + " is a file, want a folder"
	}
	return strings.Replace(strings.Replace(err.Error(), file.Path+": "+file.Error(), fault, 1), file.Error(), fault, 1)
}

// inTheWay returns the beginning of a path that is a file where a folder has to be.
func inTheWay(path string) string {
	for at := path; filepath.Dir(at) != at; at = filepath.Dir(at) {
		if info, err := os.Stat(at); err == nil && !info.IsDir() {
			return at
		}
	}
	return path
}

// wantsJSON reports whether a command line requests JSON. It also works for a command line that cannot be parsed.
func wantsJSON(args []string) bool {
	f := pflag.NewFlagSet("", pflag.ContinueOnError)
	f.ParseErrorsAllowlist.UnknownFlags = true
	f.SetOutput(io.Discard)
	f.Usage = func() {}
	output := f.StringP("output", "o", os.Getenv("SPDL_OUTPUT"), "")
	_ = f.Parse(args) // flags before the error count
	return *output == "json"
}

// flagError turns an error about flags into a UsageError. A flag after a subcommand that does not exist is none of the
// group's, so the error is about the subcommand.
func flagError(cmd *cobra.Command, err error) error {
	if args := cmd.Flags().Args(); cmd.HasSubCommands() && cmd.PreRunE == nil && len(args) > 0 {
		return Usage(UnknownCommand(cmd, args[0]))
	}
	var unknown *pflag.NotExistError
	if errors.As(err, &unknown) {
		err = unknownFlag(cmd, unknown)
	}
	var invalid *pflag.InvalidValueError
	if errors.As(err, &invalid) {
		f := invalid.GetFlag()
		err = fmt.Errorf("--%s is %q, want %s", f.Name, invalid.GetValue(), want(f, invalid.Unwrap()))
	}
	return Usage(err)
}

// unknownFlag returns the error about a flag that a command does not have, with the flags of similar names.
func unknownFlag(cmd *cobra.Command, unknown *pflag.NotExistError) error {
	if short := unknown.GetSpecifiedShortnames(); short != "" && short[0] >= '0' && short[0] <= '9' {
		return fmt.Errorf("-%s is no flag, and no number here is below 0: see %s --help", short, cmd.CommandPath())
	}
	var known []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) { known = append(known, "--"+f.Name) })
	return fmt.Errorf("%w%s: see %s --help", unknown, spelling.Suggest("--"+unknown.GetSpecifiedName(), known),
		cmd.CommandPath())
}

// kinds maps the type of a flag to a description of its values, which replaces the parser's error.
var kinds = map[string]string{
	"bool": "true or false", "duration": "a duration, as 500ms or 2m", "float64": "a number",
	"int": "a whole number", "int64": "a whole number",
	"uint64": "a whole number from 0 on", "intSlice": "whole numbers, separated by commas",
	"float64Slice": "numbers, separated by commas",
}

// want returns the description of a flag's values, or the parser's error if kinds has none.
func want(f *pflag.Flag, parser error) string {
	if f.Name == "rounds" {
		return "a whole number above 0"
	}
	if kind := kinds[f.Value.Type()]; kind != "" {
		return kind
	}
	return fmt.Sprintf("%s: %v", f.Value.Type(), parser)
}

// CheckArgs turns errors about the arguments of a command and its subcommands into UsageErrors.
func CheckArgs(cmd *cobra.Command) {
	check := cmd.Args
	cmd.Args = func(c *cobra.Command, args []string) error {
		var err error
		switch {
		case check != nil:
			if err = check(c, args); err != nil {
				err = fmt.Errorf("%w: %s", err, c.UseLine())
			}
		case c.HasSubCommands() && len(args) > 0:
			err = UnknownCommand(c, args[0])
		case len(args) > 0:
			err = fmt.Errorf("%q is given to %q, which takes flags alone", args[0], c.CommandPath())
		}
		return Usage(err)
	}
	for _, sub := range cmd.Commands() {
		CheckArgs(sub)
	}
}

// ofRPC says where blocks are.
const ofRPC = "spdl explorer shows it, and the node's RPC has it as JSON, as curl http://127.0.0.1:26657/"

// elsewhere says where is what commands of other chains' programs do.
var elsewhere = map[string]string{
	"query block": ofRPC + "block?height=12", "query blocks": ofRPC + "blockchain", "query tx": ofRPC + "tx?hash=0x...",
	"query txs": ofRPC + "tx_search?query=...", "query validators": ofRPC + "validators", "query validator": ofRPC +
		"validators", "config validate": "spdl config set and spdl start check it, and spdl doctor does, check configuration",
}

// UnknownCommand returns the error that a command has no such subcommand, with the closest names, or all of a group's.
func UnknownCommand(cmd *cobra.Command, name string) error {
	cmd.SuggestionsMinimumDistance = spelling.Distance
	hint := spelling.Question(cmd.SuggestionsFor(name))
	where, known := elsewhere[cmd.Name()+" "+name]
	if known {
		return fmt.Errorf("unknown command %q for %q: %s", name, cmd.CommandPath(), where)
	}
	if hint == "" && cmd.HasParent() {
		for _, sub := range cmd.Commands() {
			hint += ", " + sub.Name()
		}
		hint = " (it has " + strings.TrimPrefix(hint, ", ") + ")"
	}
	return fmt.Errorf("unknown command %q for %q%s: %s --help lists them", name, cmd.CommandPath(), hint,
		cmd.CommandPath())
}
