package command

import (
	"errors"
	"fmt"
	"io"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestPlain(t *testing.T) {
	require.Equal(t, "ünder \ufffd[2J\ufffd\nx", Plain("ünder \x1b[2J\u200b\nx"))
	require.Equal(t, "\ufffd", Plain("\xff"))
}

// TestProgram: a command that a program prints can be typed where the program was run.
func TestProgram(t *testing.T) {
	for run, want := range map[string]string{"spdl": "spdl-lab", "build/spdl": "build/spdl-lab",
		"./spdl": "./spdl-lab", "/usr/bin/spdl": "/usr/bin/spdl-lab", "/tmp/cli.test": "spdl-lab"} {
		require.Equal(t, want, programBeside(run, "spdl-lab"))
	}
}

// full is a writer that has no room.
type full struct{}

var errFull = errors.New("no space left")

func (full) Write([]byte) (int, error) { return 0, errFull }

// TestShowFails: the first failed write is the command's error, for a text as for JSON, however much comes after it.
func TestShowFails(t *testing.T) {
	for _, asJSON := range []bool{true, false} {
		err := (&Run{Out: full{}, JSON: asJSON}).Show([]int{1}, func(w io.Writer) {
			for i := range 10_000 {
				fmt.Fprintln(w, i)
			}
		})
		require.ErrorIs(t, err, errFull)
	}
}
