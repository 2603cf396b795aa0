package trainer

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/app/params"
	"github.com/spdl/spdl/internal/stage"
)

// TestPythonPackage runs the package's own tests, with PyTorch where an interpreter has it.
func TestPythonPackage(t *testing.T) {
	stage.OnlyLong(t)
	python := stage.Python(t, "numpy")
	for _, name := range []string{python, "/usr/bin/python3"} {
		if exec.Command(name, "-c", "import numpy, torch").Run() == nil {
			python = name
			break
		}
	}
	cmd := exec.CommandContext(t.Context(), python, "-B", "-m", "unittest", "-v")
	cmd.Dir = "python"
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.Contains(t, string(out), "OK")
	t.Logf("%s: %s", python, out) // names the tests that were skipped, and why
}

// TestOtherTensors: a trainer whose model has other tensors than the parameters does not start, and
// the error names the first difference. A trainer with the same tensors in another order, or that
// names none, starts.
func TestOtherTensors(t *testing.T) {
	other := linear(params.ClippingRows)
	other.Tensors[0].Shape = []uint32{3, 2}
	longer := linear(params.ClippingRows)
	longer.Tensors = append(longer.Tensors, params.Tensor{Name: "bias", Shape: []uint32{2}, Init: params.InitZeros})
	renamed := linear(params.ClippingRows)
	renamed.Tensors[0].Name = "w"
	for _, c := range []struct {
		model params.Model
		want  string
		pairs []Pair
	}{
		{linear(params.ClippingRows), "", []Pair{{"weight", []uint32{2, 3}, []uint32{2, 3}}}},
		{other, "tensor weight has shape [2 3] in the model and [3 2] in the parameters",
			[]Pair{{"weight", []uint32{2, 3}, []uint32{3, 2}}}},
		{longer, "tensor bias of the parameters, of shape [2], is not in the model",
			[]Pair{{"weight", []uint32{2, 3}, []uint32{2, 3}}, {"bias", nil, []uint32{2}}}},
		{renamed, "tensor w of the parameters, of shape [2 3], is not in the model",
			[]Pair{{"w", nil, []uint32{2, 3}}, {"weight", []uint32{2, 3}, nil}}},
	} {
		conf, _ := study(t, "tensors")
		report, err := Inspect(t.Context(), conf, c.model, params.Privacy{Clip: 1}, 5, 1)
		require.NoError(t, err)
		require.Equal(t, c.pairs, report.Tensors)
		if c.want == "" {
			require.False(t, report.Refuted, "%+v", report)
			continue
		}
		require.True(t, report.Refuted)
		var wrong *TensorError
		require.ErrorAs(t, report.Failure, &wrong)
		require.ErrorContains(t, wrong, c.want)
		_, err = Start(t.Context(), conf, c.model, params.Privacy{Clip: 1})
		require.ErrorIs(t, err, ErrTrainer)
		require.ErrorContains(t, err, c.want)
	}
	require.NoError(t, compare([]Tensor{{"b", []uint32{1}}, {"a", []uint32{2}}},
		[]params.Tensor{{Name: "a", Shape: []uint32{2}}, {Name: "b", Shape: []uint32{1}}}))
	require.ErrorContains(t, compare([]Tensor{{"weight", []uint32{2, 3}}, {"b", []uint32{1}}}, linear("rows").Tensors),
		"tensor b of the model, of shape [1], is not in the parameters")
	require.NoError(t, compare(nil, linear("rows").Tensors))
}

// TestNotStarted: a trainer that could not import a module is not reported as one that breaks the
// guarantee. The error names the interpreter and the module.
func TestNotStarted(t *testing.T) {
	for mode, module := range map[string]string{"import": "no_such_module", "import-late": "no_such_module",
		"crash-at-start": "", "denied": ""} {
		conf, _ := study(t, mode)
		_, err := Start(t.Context(), conf, linear(params.ClippingRows), params.Privacy{Clip: 1})
		var start *StartError
		require.ErrorAs(t, err, &start, mode)
		require.Equal(t, module, start.Module, mode)
		if module != "" {
			require.Equal(t, conf.Argv[0], start.Program)
			require.ErrorContains(t, err, "it did not start: "+conf.Argv[0]+" has no module no_such_module")
		}
		require.Equal(t, mode == "denied", strings.Contains(err.Error(), "worker.trainer_read"), "a remedy: %v", err)
	}
	require.Equal(t, "python3", interpreter([]string{"./train.py"}))
	require.Equal(t, "", MissingModule("ValueError: No module named 'numpy'"))
	conf, _ := study(t, "leak")
	conf.Timeout = 5 * time.Second
	_, err := Start(t.Context(), conf, linear(params.ClippingRows), params.Privacy{Clip: 1})
	var start *StartError
	require.NotErrorAs(t, err, &start, "it has started")
	require.ErrorContains(t, Config{Argv: []string{"no-such-program"}}.Check(), `there is no program "no-such-program"`)
	require.Error(t, Config{Argv: []string{filepath.Join(t.TempDir(), "none")}}.Check())
}
