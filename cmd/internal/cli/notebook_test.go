package cli

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/internal/stage"
)

// cellsOf returns the code of a notebook, a cell behind the other.
func cellsOf(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	var notebook struct {
		Cells []struct {
			Type    string   `json:"cell_type"`
			Source  []string `json:"source"`
			Outputs []any    `json:"outputs"`
		} `json:"cells"`
	}
	require.NoError(t, json.Unmarshal(text, &notebook))
	var code strings.Builder
	for _, c := range notebook.Cells {
		require.Empty(t, c.Outputs, "outputs are of one machine")
		if c.Type == "code" {
			code.WriteString(strings.Join(c.Source, "") + "\n")
		}
	}
	require.NotEmpty(t, code.String())
	return code.String()
}

// loading is a block of docs/MODELS.md that loads an exported file.
var loading = regexp.MustCompile("(?s)<!-- loads -->\n```python\n(.*?)```")

// safetensors stands in for the package of that name, by the words of its format.
const safetensors = `
import json, struct, torch
def load_file(name):
    data = open(name, "rb").read()
    (size,) = struct.unpack("<Q", data[:8])
    header, data = json.loads(data[8:8 + size]), data[8 + size:]
    header.pop("__metadata__", None)
    return {name: torch.frombuffer(bytearray(data[t["data_offsets"][0]:t["data_offsets"][1]]),
                                   dtype={"F64": torch.float64, "F32": torch.float32}[t["dtype"]]).reshape(t["shape"])
            for name, t in header.items()}
`

// TestNotebook executes the cells of docs/own-module.ipynb, from a module to a verified model, and
// then the lines of docs/MODELS.md that load its files into the module.
func TestNotebook(t *testing.T) {
	stage.OnlyLong(t)
	python, dir := stage.Python(t, "numpy, torch"), t.TempDir()
	binary, err := os.Executable()
	require.NoError(t, err)
	for program, only := range map[string]string{"spdl": "plan", "spdl-lab": "testnet"} {
		file := filepath.Join(dir, program)
		require.NoError(t, os.WriteFile(file, []byte("#!/bin/sh\n"+asSPDL+"="+program+" exec '"+binary+"' \"$@\"\n"), 0o700))
		for _, command := range []string{"plan", "testnet"} {
			err := exec.CommandContext(t.Context(), file, command, "--help").Run()
			require.Equal(t, command == only, err == nil, "%s %s", program, command)
		}
	}
	t.Setenv("PATH", dir+string(os.PathListSeparator)+os.Getenv("PATH"))
	run := func(code string) {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
		defer cancel()
		cmd := exec.CommandContext(ctx, python, "-B", "-c", code)
		cmd.Dir, cmd.WaitDelay = dir, 10*time.Second
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, "%s\n%s", code, out)
		t.Logf("%s", out)
	}
	run(cellsOf(t, filepath.Join(docs, "own-module.ipynb")))
	require.Empty(t, processesUnder(t, dir), "the net has ended")

	text, err := os.ReadFile(filepath.Join(docs, "MODELS.md"))
	require.NoError(t, err)
	blocks := loading.FindAllStringSubmatch(string(text), -1)
	require.Len(t, blocks, 3, "by spdl_trainer, and one for each format")
	t.Setenv("PYTHONPATH", filepath.Join(dir, "study"))
	if exec.Command(python, "-c", "import safetensors.torch").Run() != nil {
		require.NoError(t, os.Mkdir(filepath.Join(dir, "safetensors"), 0o700))
		require.NoError(t, os.WriteFile(filepath.Join(dir, "safetensors", "__init__.py"), nil, 0o600))
		require.NoError(t, os.WriteFile(filepath.Join(dir, "safetensors", "torch.py"), []byte(safetensors), 0o600))
	}
	require.NoError(t, os.Rename(filepath.Join(dir, "digits.py"), filepath.Join(dir, "my.py")))
	for _, b := range blocks {
		lines := strings.Split(strings.TrimSpace(b[1]), "\n")
		require.Len(t, lines, 3)
		run(b[1] + "import numpy, torch\nexported = numpy.load('model.npz')\n" +
			"assert all(torch.equal(p, torch.from_numpy(exported[n]).to(p.dtype)) for n, p in module.named_parameters())\n")
	}
}
