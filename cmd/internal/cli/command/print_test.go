package command

import (
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
