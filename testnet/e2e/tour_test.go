//go:build e2e

package e2e

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// step is one block of commands of a page, with what the page promises of its output.
type step struct {
	line     int
	commands []string
	output   []string // nil: nothing is promised
	holds    []string
}

// steps reads the fenced blocks of a page, or of its section below a heading: `sh` holds commands,
// and `text` the output of those before it. A comment `<!-- holds: REGEXP -->` states what holds of that output
// with its numbers; a group (?P<name>...) can be used by those after it as {name}.
func steps(t *testing.T, page, section string) (all []step) {
	t.Helper()
	text, err := os.ReadFile(page)
	require.NoError(t, err)
	fence, inside := "", section == ""
	for i, line := range strings.Split(string(text), "\n") {
		last := len(all) - 1
		if section != "" && fence == "" && strings.HasPrefix(line, "#") {
			inside = line == section
		}
		switch language, fenced := strings.CutPrefix(line, "```"); {
		case !inside:
		case fenced && fence != "":
			fence = ""
		case fenced:
			fence = language
			if language == "sh" {
				all = append(all, step{line: i + 2})
			} else {
				require.Equal(t, "text", language, "%s:%d: a block is sh or text", page, i+1)
				require.Nil(t, all[last].output, "%s:%d: the second output of one block", page, i+1)
				all[last].output = []string{}
			}
		case fence == "sh":
			all[last].commands = append(all[last].commands, line)
		case fence == "text":
			all[last].output = append(all[last].output, line)
		case strings.HasPrefix(line, "<!-- holds: "):
			all[last].holds = append(all[last].holds, strings.TrimSuffix(strings.TrimPrefix(line, "<!-- holds: "), " -->"))
		}
	}
	require.Empty(t, fence, "%s: a block does not end", page)
	require.NotEmpty(t, all, "%s: no commands below %q", page, section)
	return all
}

// follow runs all steps in one shell, which begins in the repository as a reader does, and returns
// the output of each. What runs in the background when the shell ends is stopped.
func follow(t *testing.T, page string, all []step) []string {
	t.Helper()
	const mark = "@@ end of step"
	script := "set -euo pipefail\ntrap 'kill $(jobs -p) 2>/dev/null || true; wait' EXIT\n"
	for _, s := range all {
		script += strings.Join(s.commands, "\n") + "\necho '" + mark + "'\n"
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	shell := exec.CommandContext(ctx, "bash", "-c", script)
	shell.Dir, shell.Env = "../..", append(os.Environ(), "TMPDIR="+t.TempDir(),
		"PATH="+filepath.Dir(binary)+":"+os.Getenv("PATH"))
	shell.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	shell.Cancel = func() error { return syscall.Kill(-shell.Process.Pid, syscall.SIGTERM) }
	shell.WaitDelay = 20 * time.Second
	out, err := shell.CombinedOutput()
	outputs := strings.Split(string(out), mark+"\n")
	if err != nil {
		at := all[min(len(outputs), len(all))-1]
		require.NoError(t, errors.Join(err, ctx.Err()), "%s:%d:\n%s\n%s", page, at.line, strings.Join(at.commands, "\n"),
			outputs[len(outputs)-1])
	}
	require.Len(t, outputs, len(all)+1)
	return outputs
}

// volatile are the parts of an output that differ from run to run, in the order of replacement.
var volatile = []struct {
	pattern *regexp.Regexp
	by      string
}{
	// What the noise of a round leaves of an honest gradient's weight.
	{regexp.MustCompile(`^ +\d+ +(selected|left-out|absent) .*`), "# a gradient's fate"},
	// On a busy machine a participant may miss a round.
	{regexp.MustCompile(`; absent in \d+ of \d+|  missing [\d, ]+$`), ""},
	{regexp.MustCompile(`\b[0-9A-Fa-f]{16,}\b`), "#"},
	{regexp.MustCompile(`\d{4}-\d\d-\d\dT[\d:]+Z`), "#"},
	{regexp.MustCompile(`\b(\d+[hms])+\b`), "#"},
	{regexp.MustCompile(`-?\d+(\.\d+)?(e-?\d+)?`), "#"},
	{regexp.MustCompile(`\[[# ]*\]`), "[#]"},
	{regexp.MustCompile(` +`), " "},
}

// missed matches the lines that a net prints at its end if a participant missed a round.
var missed = regexp.MustCompile(`^(gradients missing: participant|if its training steps are slow:) `)

// shape returns the lines without what differs from run to run.
func shape(lines []string) (out []string) {
	for _, line := range lines {
		if missed.MatchString(line) {
			continue
		}
		for _, v := range volatile {
			line = v.pattern.ReplaceAllString(line, v.by)
		}
		out = append(out, strings.TrimSpace(line))
	}
	return out
}

// alike compares the shapes of promised lines and of real ones; "..." stands for any lines.
func alike(promised, real []string) error {
	if len(promised) == 0 {
		if len(real) > 0 {
			return fmt.Errorf("more than promised: %q", real[0])
		}
		return nil
	}
	if promised[0] == "..." {
		for skip := range len(real) + 1 {
			if alike(promised[1:], real[skip:]) == nil {
				return nil
			}
		}
		return fmt.Errorf("after ... these lines do not come: %q in %q", promised[1:], real)
	}
	if len(real) == 0 {
		return fmt.Errorf("promised, and missing: %q", promised[0])
	}
	if promised[0] != real[0] {
		return fmt.Errorf("promised %q, got %q", promised[0], real[0])
	}
	return alike(promised[1:], real[1:])
}

// TestTour runs every command of docs/TOUR.md in order, as a reader does, and holds their output to
// the page's: word for word but for numbers, and to its numbers where the text rests on them.
func TestTour(t *testing.T) { playPage(t, "../../docs/TOUR.md", "") }

// TestFounding does the same with the rehearsal of docs/OPERATING.md: four homes at four addresses,
// from the proposal to the first trained round.
func TestFounding(t *testing.T) { playPage(t, "../../docs/OPERATING.md", "### A rehearsal") }

// playPage runs the commands of a page, or of a section of it.
func playPage(t *testing.T, page, section string) {
	t.Helper()
	all, begin := steps(t, page, section), time.Now()
	require.NotContains(t, fmt.Sprint(all), "localhost")
	outputs := follow(t, page, all)
	var known []string // pairs of {name} and value
	for i, s := range all {
		out := strings.TrimRight(outputs[i], "\n")
		if s.output != nil {
			require.NoError(t, alike(shape(s.output), shape(strings.Split(out, "\n"))), "%s:%d\n%s", page, s.line, out)
		}
		for _, holds := range s.holds {
			pattern := regexp.MustCompile(strings.NewReplacer(known...).Replace(holds))
			found := pattern.FindStringSubmatch(out)
			require.NotNil(t, found, "%s:%d: %s does not hold of\n%s", page, s.line, pattern, out)
			for j, name := range pattern.SubexpNames() {
				if name != "" {
					known = append(known, "{"+name+"}", regexp.QuoteMeta(found[j]))
				}
			}
		}
	}
	t.Logf("%d steps in %.0f s", len(all), time.Since(begin).Seconds())
}
