package home

import (
	"errors"
	"path/filepath"
	"testing"
	"time"

	"github.com/cometbft/cometbft/config"
	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/app/params"
	"github.com/spdl/spdl/app/worker/trainer"
	"github.com/spdl/spdl/internal/stage"
)

// TestEvaluatorByTrainer: the trainer that the home names measures an external model, and starts
// again after a failure. Without a trainer the model cannot be measured.
func TestEvaluatorByTrainer(t *testing.T) {
	python := stage.Python(t, "json")
	study, err := filepath.Abs("../../app/worker/trainer/testdata/study.py")
	require.NoError(t, err)
	p := params.Params{Privacy: params.Privacy{Clip: 1}, Model: params.Model{
		Kind: params.ModelExternal, Clipping: params.ClippingRows, Config: `{"a": 1}`,
		Tensors: []params.Tensor{{Name: "w", Shape: []uint32{2, 3}, Init: params.InitZeros}},
	}}
	x := []float64{0.1, -0.2, 0.3, 0, 0.5, -0.1}
	home := func(program ...string) *Evaluator {
		c := config.DefaultConfig().SetRoot(t.TempDir())
		e := EvaluatorOf(c, WorkerConfig{Trainer: program, TrainerTimeout: Duration{20 * time.Second}, Parts: 1,
			TrainerRead: []string{filepath.Join(filepath.Dir(study), "../python")}}) // spdl_trainer
		t.Cleanup(e.Close)
		return e
	}
	measured, err := home(python, study, "measured").Evaluate(t.Context(), p, x)
	require.NoError(t, err)
	require.Equal(t, 0.25, measured.Accuracy)
	_, err = home(python, study, "right").Evaluate(t.Context(), p, x)
	require.True(t, IsUnmeasurable(err), err)
	_, err = home().Evaluate(t.Context(), p, x)
	require.True(t, IsUnmeasurable(err), err)
	_, err = home(python, "-c", "raise SystemExit(1)").Evaluate(t.Context(), p, x)
	require.True(t, errors.Is(err, trainer.ErrTrainer) && !IsUnmeasurable(err), err)
}
