package command

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"
)

// every has a variable of each type of flag.
type every struct {
	text     string
	yes      bool
	number   int
	signed   int64
	unsigned uint64
	ratio    float64
	pause    time.Duration
	names    []string
	numbers  []int
	ratios   []float64
	rounds   *uint64
	reveal   *bool

	out   string // of the command needs
	count int
}

// declared returns a program whose command x has a flag of each type, and whose command needs
// requires two.
func declared(o *every, run func(*Run, []string) error) *cobra.Command {
	root := Root("spdl", "", io.Discard, io.Discard)
	x := New(&cobra.Command{Use: "x"}, run)
	Flag(x, &o.text, "text", "as it is", "")
	Flag(x, &o.yes, "yes", false, "")
	Flag(x, &o.number, "number,n", 4, "").Positive()
	Flag(x, &o.signed, "signed", -1, "")
	Flag(x, &o.unsigned, "unsigned", 0, "")
	Flag(x, &o.ratio, "ratio", 0.5, "").Positive()
	Flag(x, &o.pause, "long-pause", time.Minute, "").Positive()
	Flag(x, &o.names, "names", nil, "").Values("mean", "median")
	Flag(x, &o.numbers, "numbers", nil, "")
	Flag(x, &o.ratios, "ratios", nil, "")
	Optional(x, &o.rounds, "rounds", "")
	Optional(x, &o.reveal, "reveal", "")
	needs := New(&cobra.Command{Use: "needs"}, run)
	Flag(needs, &o.out, "out", "", "file to write").Required()
	Flag(needs, &o.count, "count", 0, "").Required()
	root.AddCommand(x, needs)
	return Complete(root)
}

// play runs a command line.
func play(t *testing.T, root *cobra.Command, line string) (errs string, code int) {
	t.Helper()
	var out, err bytes.Buffer
	root.SetOut(&out)
	root.SetErr(&err)
	return err.String(), Execute(context.Background(), root, strings.Fields(line))
}

// TestFlagsSetTheirVariables: by a flag, else by the environment, else to the default.
func TestFlagsSetTheirVariables(t *testing.T) {
	yes, rounds := true, uint64(9)
	plain := every{text: "as it is", number: 4, signed: -1, ratio: 0.5, pause: time.Minute}
	full := every{text: "b", yes: true, number: 7, signed: -9, unsigned: 3, ratio: 2, pause: time.Second,
		names: []string{"mean", "median"}, numbers: []int{1, 2}, ratios: []float64{1, 0.5}, rounds: &rounds, reveal: &yes}
	line := " --text b --yes -n 7 --signed -9 --unsigned 3 --ratio 2 --long-pause 1s --names mean,median --numbers 1,2 " +
		"--ratios 1,0.5 --rounds 9 --reveal"
	environment := map[string]string{"TEXT": "b", "YES": "true", "NUMBER": "7", "SIGNED": "-9", "UNSIGNED": "3",
		"RATIO": "2", "LONG_PAUSE": "1s", "NAMES": "mean,median", "NUMBERS": "1,2", "RATIOS": "1,0.5", "ROUNDS": "9",
		"REVEAL": "true"}
	try := func(line string, want every) {
		t.Helper()
		var o every
		ran := 0
		_, code := play(t, declared(&o, func(r *Run, _ []string) error {
			ran++
			require.Equal(t, want.text != plain.text, r.Given(&o.text))
			require.Equal(t, want.rounds != nil, r.Given(&o.rounds))
			return nil
		}), line)
		require.Zero(t, code)
		require.Equal(t, 1, ran)
		require.Equal(t, want, o)
	}
	try("x", plain)
	try("x"+line, full)
	for name, value := range environment {
		t.Setenv("SPDL_"+name, value)
	}
	try("x", full)
	other := full
	other.text, other.number, other.names = "c", 8, []string{"mean"}
	try("x --text c -n 8 --names mean", other)
}

// TestWrongFlags: each is wrong use, with the flag, the value and what it wants; nothing runs.
func TestWrongFlags(t *testing.T) {
	for line, says := range map[string]string{
		"x --number x":            `--number is "x", want a whole number`,
		"x --number 0":            "--number is 0, want above 0, or leave it out for its default",
		"x --number -2":           "--number is -2, want above 0",
		"x --ratio NaN":           "--ratio is NaN, want above 0",
		"x --ratio -0.1":          "--ratio is -0.1, want above 0",
		"x --long-pause 0s":       "--long-pause is 0s, want above 0",
		"x --long-pause 5":        `--long-pause is "5", want a duration`,
		"x --unsigned -1":         `--unsigned is "-1", want a whole number from 0 on`,
		"x --numbers 1,x":         `--numbers is "1,x", want whole numbers, separated by commas`,
		"x --ratios y":            `--ratios is "y", want numbers, separated by commas`,
		"x --text=":               "--text is empty: leave it out for its default",
		"x --txet a":              "unknown flag: --txet (did you mean --text?)",
		"needs --names a":         "unknown flag: --names: see spdl needs --help",
		"needs":                   "--count and --out are needed",
		"needs --count 1":         "--out is needed: file to write",
		"needs -o jsno --count 1": "--out is needed",
	} {
		var out, errs bytes.Buffer
		root := declared(&every{}, func(*Run, []string) error { panic("it runs") })
		root.SetOut(&out)
		root.SetErr(&errs)
		require.Equal(t, WrongUse, Execute(context.Background(), root, strings.Fields(line)), line)
		require.Contains(t, errs.String(), says, line)
	}
}

// TestWrongEnvironment: the error names the variable.
func TestWrongEnvironment(t *testing.T) {
	t.Setenv("SPDL_LONG_PAUSE", "soon")
	var errs bytes.Buffer
	root := declared(&every{}, func(*Run, []string) error { panic("it runs") })
	root.SetErr(&errs)
	require.Equal(t, WrongUse, Execute(context.Background(), root, []string{"x"}))
	require.Contains(t, errs.String(), `SPDL_LONG_PAUSE is "soon", want a duration`)
}

// TestEnvironmentSatisfiesRequired: a variable counts as its flag.
func TestEnvironmentSatisfiesRequired(t *testing.T) {
	t.Setenv("SPDL_OUT", "file")
	t.Setenv("SPDL_COUNT", "3")
	var o every
	_, code := play(t, declared(&o, func(*Run, []string) error { return nil }), "needs")
	require.Zero(t, code)
	require.Equal(t, "file", o.out)
	require.Equal(t, 3, o.count)
}

// TestDefaultsLieBeneathFlags: what a file or a preset sets gives way to a flag, and to nothing else.
func TestDefaultsLieBeneathFlags(t *testing.T) {
	t.Setenv("SPDL_RATIO", "3")
	var o every
	failed := errors.New("no such file")
	rounds := uint64(5)
	_, code := play(t, declared(&o, func(r *Run, _ []string) error {
		require.ErrorIs(t, r.Defaults(func() error { return failed }), failed)
		return r.Defaults(func() error {
			o = every{text: "file", number: 1, ratio: 1, names: []string{"file"}, numbers: []int{1}, rounds: &rounds}
			return nil
		})
	}), "x --names mean,median --number 9 --rounds 8")
	require.Zero(t, code)
	require.Equal(t, uint64(8), *o.rounds)
	o.rounds = nil
	require.Equal(t, every{text: "file", number: 9, ratio: 3, names: []string{"mean", "median"}, numbers: []int{1}}, o)
}

// TestHelpShowsDefaults: but no zero ones, which the help text explains.
func TestHelpShowsDefaults(t *testing.T) {
	var out bytes.Buffer
	root := declared(&every{}, nil)
	root.SetOut(&out)
	require.Zero(t, Execute(context.Background(), root, []string{"x", "--help"}))
	for _, line := range []string{`--text string`, `(default "as it is")`, "-n, --number int", "(default 4)",
		"--long-pause duration", "(default 1m0s)", "--names strings", "--numbers ints", "--ratios float64Slice", "--yes",
		"--reveal", "--rounds uint"} {
		require.Contains(t, out.String(), line)
	}
	require.NotContains(t, out.String(), "default 0)")
	require.NotContains(t, out.String(), "default []")
}

// TestKnownValues: completion offers them, for each element of a list, and required flags first; another value is
// rejected with what it may stand for, else with all of them.
func TestKnownValues(t *testing.T) {
	for line, offered := range map[string]string{"x --names me": "median", "x --names mean,": "mean,median",
		"x -o ": "json", "needs ": "--out"} {
		var out bytes.Buffer
		root := declared(&every{}, nil)
		root.SetOut(&out)
		args := append([]string{"__complete"}, strings.Split(line, " ")...)
		require.Zero(t, Execute(context.Background(), root, args))
		require.Contains(t, out.String(), offered, line)
	}
	for line, says := range map[string]string{
		"x --names mean,medians": `--names is "medians" (did you mean median?)`,
		"x --names krum":         `--names is "krum", want one of mean, median`,
		"x -o jsn":               `--output is "jsn" (did you mean json?)`,
	} {
		var out bytes.Buffer
		root := declared(&every{}, nil)
		root.SetErr(&out)
		require.Equal(t, 2, Execute(context.Background(), root, strings.Split(line, " ")), line)
		require.Contains(t, out.String(), says, line)
	}
}
