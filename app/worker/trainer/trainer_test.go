package trainer

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"encoding/hex"
	"math"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/app/params"
	"github.com/spdl/spdl/app/worker/trainer/sandbox"
	"github.com/spdl/spdl/internal/stage"
)

// linear is the model of testdata/study.py.
func linear(clipping string) params.Model {
	return params.Model{Kind: params.ModelExternal, Clipping: clipping, Config: `{"a": 1}`, Tensors: []params.Tensor{
		{Name: "weight", Shape: []uint32{2, 3}, Init: params.InitZeros},
	}}
}

// heard records the standard error of a trainer.
type heard struct {
	mu   sync.Mutex
	text strings.Builder
}

func (h *heard) say(line string, _ ...any) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.text.WriteString(line + "\n")
}

func (h *heard) String() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.text.String()
}

// study is the configuration of testdata/study.py in a mode.
func study(t *testing.T, mode ...string) (Config, *heard) {
	t.Helper()
	python := stage.Python(t, "json")
	h := new(heard)
	return Config{
		Argv: append([]string{python, "testdata/study.py"}, mode...), Timeout: 20 * time.Second, Pause: time.Millisecond,
		Share: Share{Data: "d", Part: 1, Parts: 4, Partition: "iid", Alpha: 1, Seed: 5}, Log: h.say,
		// study.py finds spdl_trainer in python; some modes write a marker, which a contained trainer cannot
		Sandbox: sandbox.Settings{Read: []string{"python"}, Off: len(mode) > 1},
	}, h
}

func start(t *testing.T, clipping string, mode ...string) *Trainer {
	t.Helper()
	c, h := study(t, mode...)
	p, err := Start(t.Context(), c, linear(clipping), params.Privacy{Clip: 1})
	require.NoError(t, err, h)
	t.Cleanup(p.Close)
	return p
}

var at = []float64{0.1, -0.2, 0.3, 0, 0.5, -0.1}

// clippedTo is the max norm of a row at clip 1: the worker's margin is privacy.ClipScale's, and
// testdata/study.py has none.
var clippedTo = map[string]float64{params.ClippingRows: 1 - 0x1p-12, params.ClippingSum: 1}

// reference returns the correct sum of testdata/study.py.
func reference(clipping string, picked []int) []float64 {
	sum := make([]float64, 6)
	for _, i := range picked {
		row, failed := make([]float64, 6), -float64(i%3-1)
		for j := range row {
			row[j] = float64((7*i+3*j)%11)/5 - 1
			failed += at[j] * row[j]
		}
		for j := range row {
			row[j] *= 3 * failed
		}
		factor := min(1, clippedTo[clipping]/norm(row))
		for j := range row {
			sum[j] += row[j] * factor
		}
	}
	return sum
}

// TestClippedSum: both modes give the sum of the gradients, each of at most norm 1, for any batch.
func TestClippedSum(t *testing.T) {
	for _, clipping := range []string{params.ClippingRows, params.ClippingSum} {
		p := start(t, clipping, "right")
		require.Equal(t, 50, p.Len())
		for _, picked := range [][]int{{}, {3}, {0, 49, 7}, {1, 2, 3, 4, 5, 6, 7, 8, 9}} {
			sum := []float64{1, 2, 3, 4, 5, 6} // leftover values
			require.NoError(t, p.ClippedSum(t.Context(), sum, at, picked))
			require.InDeltaSlice(t, reference(clipping, picked), sum, 1e-5, clipping)
		}
		_, err := p.Evaluate(t.Context(), at)
		require.ErrorIs(t, err, ErrUnmeasured)
	}
}

func TestEvaluate(t *testing.T) {
	e, err := start(t, params.ClippingRows, "measured").Evaluate(t.Context(), at)
	require.NoError(t, err)
	require.Equal(t, Eval{Loss: 1.5, Accuracy: 0.25, Examples: 8}, e)
	_, err = start(t, params.ClippingRows, "mismeasured").Evaluate(t.Context(), at)
	require.ErrorContains(t, err, "accuracy 7 on 8 examples, want 0 to 1")
}

// TestPredict: a trainer that knows the probabilities of its rows gives those of either side.
func TestPredict(t *testing.T) {
	p := start(t, params.ClippingRows, "predicted")
	test, err := p.Predict(t.Context(), at, false)
	require.NoError(t, err)
	require.Equal(t, Predicted{3, 2, []uint8{1, 1, 0}, []float64{0.75, 0.25, 0.875, 0.125, 1, 0}}, test)
	train, err := p.Predict(t.Context(), at, true)
	require.NoError(t, err)
	require.Equal(t, Predicted{2, 2, []uint8{0, 1}, []float64{0.5, 0.5, 0.25, 0.75}}, train)
	_, err = start(t, params.ClippingRows, "mispredicted").Predict(t.Context(), at, false)
	require.ErrorContains(t, err, "row 2 to predict is no label from 0 to 1 and the probabilities of the classes")
	_, err = start(t, params.ClippingRows, "measured").Predict(t.Context(), at, false)
	require.ErrorIs(t, err, ErrUnmeasured)
}

// TestHello: the trainer gets its share, its configuration and its tensors, and its output goes to
// the log.
func TestHello(t *testing.T) {
	c, h := study(t, "share")
	p, err := Start(t.Context(), c, linear(params.ClippingRows), params.Privacy{Clip: 1})
	require.NoError(t, err)
	p.Close()
	require.Contains(t, h.String(), "trainer: share {'data': 'd', 'part': 1, 'parts': 4, 'partition': 'iid', 'alpha': "+
		"1, 'seed': 5} {'a': 1} weight")
}

// TestFailures: the error names the trainer's fault, and the next call starts another process.
func TestFailures(t *testing.T) {
	for mode, want := range map[string]string{
		"crash":      "it ended by itself (exit status 3)",
		"exception":  "it says: ValueError: bad batch",
		"nan":        "row 0 of 2 has a coordinate that is no finite number",
		"length":     "a frame of rows has 40 bytes, want whole rows of 24 bytes (6 float32)",
		"sum-length": "is a frame of type 'S' of 56 bytes, at most 48",
		"clip":       "the trainer does not clip",
	} {
		clipping := params.ClippingRows
		if mode == "sum-length" || mode == "clip" {
			clipping = params.ClippingSum
		}
		p := start(t, clipping, mode)
		before := p.child.cmd.Process.Pid
		err := p.ClippedSum(t.Context(), make([]float64, 6), at, []int{3, 4})
		require.ErrorIs(t, err, ErrTrainer, mode)
		require.ErrorContains(t, err, want, mode)
		require.Nil(t, p.child, mode)
		time.Sleep(5 * time.Millisecond)
		_ = p.ClippedSum(t.Context(), make([]float64, 6), at, nil)
		if p.child != nil {
			require.NotEqual(t, before, p.child.cmd.Process.Pid, mode)
		}
	}
}

func TestFailedStarts(t *testing.T) {
	for mode, want := range map[string]string{
		"crash-at-start": "it says: RuntimeError: no data",
		"leak":           "does the trainer print to its standard output",
		"huge":           "is a frame of type 'H' of 4294967295 bytes, at most 65536",
	} {
		c, _ := study(t, mode)
		_, err := Start(t.Context(), c, linear(params.ClippingRows), params.Privacy{Clip: 1})
		require.ErrorContains(t, err, want, mode)
	}
	_, err := Start(t.Context(), Config{Argv: []string{"/no/such/program"}}, linear(params.ClippingRows),
		params.Privacy{Clip: 1})
	require.ErrorContains(t, err, "permission to be executed")
	_, err = Start(t.Context(), Config{}, linear(params.ClippingRows), params.Privacy{Clip: 1})
	require.ErrorContains(t, err, "no trainer is named")
}

// TestOtherDataAfterARestart: a trainer that has another number of examples after a restart is
// rejected, because the sampling rate is for the former number.
func TestOtherDataAfterARestart(t *testing.T) {
	p := start(t, params.ClippingRows, "restart", filepath.Join(t.TempDir(), "marker"))
	p.child.stop(false)
	require.Error(t, p.ClippedSum(t.Context(), make([]float64, 6), at, []int{1}))
	time.Sleep(5 * time.Millisecond)
	require.ErrorContains(t, p.ClippedSum(t.Context(), make([]float64, 6), at, []int{1}),
		"it has 51 examples after its restart, before 50")
}

// TestLateAnswers: a late trainer is stopped, even if it ignores SIGTERM. It starts again only
// after a pause, which grows.
func TestLateAnswers(t *testing.T) {
	stage.OnlyLong(t)
	t.Parallel()
	for _, mode := range []string{"slow", "deaf"} {
		p := start(t, params.ClippingRows, mode)
		child := p.child
		p.config.Timeout, p.config.Pause = 2*time.Second, time.Hour
		err := p.ClippedSum(t.Context(), make([]float64, 6), at, []int{1})
		require.ErrorContains(t, err, "no answer in time", mode)
		select {
		case <-child.done:
		default:
			t.Fatal("it runs on")
		}
		require.ErrorIs(t, child.cmd.Process.Signal(os.Kill), os.ErrProcessDone)
		require.ErrorContains(t, p.ClippedSum(t.Context(), make([]float64, 6), at, []int{1}), "it starts again after a pause")
	}
}

// TestCancelled: a cancelled call does not wait for the answer.
func TestCancelled(t *testing.T) {
	p := start(t, params.ClippingRows, "slow")
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	begin := time.Now()
	require.Error(t, p.ClippedSum(ctx, make([]float64, 6), at, []int{1}))
	require.Less(t, time.Since(begin), 15*time.Second)
}

// TestKilled: killing a trainer at any moment fails only the call in progress, and successful calls
// give the right result.
func TestKilled(t *testing.T) {
	p := start(t, params.ClippingRows, "right")
	picked := []int{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}
	want := reference(params.ClippingRows, picked)
	given := 0
	for kills := range 20 {
		p.mu.Lock()
		process := p.child
		p.mu.Unlock()
		if process != nil {
			time.AfterFunc(time.Duration(kills*53%29)*100*time.Microsecond, func() { kill(process.cmd.Process) })
		}
		for range 4 {
			sum := make([]float64, 6)
			if err := p.ClippedSum(t.Context(), sum, at, picked); err != nil {
				require.ErrorIs(t, err, ErrTrainer)
				time.Sleep(time.Duration(2<<min(p.failures, 4)) * time.Millisecond)
				continue
			}
			require.InDeltaSlice(t, want, sum, 1e-5)
			given++
		}
	}
	require.Greater(t, given, 20)
}

// TestInspect: a correct trainer is not refuted, and each wrong trainer is refuted, by the demand
// that it breaks.
func TestInspect(t *testing.T) {
	for _, c := range []struct{ mode, clipping, demand, note string }{
		{"right", "rows", "", ""},
		{"right", "sum", "", ""},
		{"measured", "rows", "", ""},
		{"batch-norm", "rows", "without one example the sum changes by that example's gradient", "batch normalisation"},
		{"batch-norm", "sum", "without one example the sum changes by that example's gradient", "batch normalisation"},
		{"clip", "sum", "an example alone is within the clip norm", "does not clip"},
		{"length", "rows", "a batch is answered in time", "want whole rows of 24 bytes"},
		{"sum-length", "sum", "a batch is answered in time", "at most 48"},
		{"batch-mean", "rows", "a batch is answered in time",
			"returned 1 row of 6 numbers for 20 examples, want shape [20, 6]"},
		{"nan", "rows", "a batch is answered in time", "no finite number"},
		{"slow-once", "rows", "a batch is answered in time", "no answer in time"},
		{"crash", "rows", "a batch is answered in time", "ended by itself"},
		{"leak", "rows", "it starts and answers HELLO", "print to its standard output"},
		{"indices", "rows", "examples differ in their gradients", "does not look at the indices"},
		{"order", "rows", "the order of the batch does not matter", "its place in the batch"},
		{"random", "rows", "the same question gets the same answer", "dropout"},
		{"momentum", "sum", "the same question gets the same answer", "keeps something from one step to the next"},
		{"crash-at-start", "rows", "it starts and answers HELLO", "no data"},
	} {
		t.Run(c.mode+"/"+c.clipping, func(t *testing.T) {
			t.Parallel()
			conf, _ := study(t, c.mode, filepath.Join(t.TempDir(), "marker"))
			if c.mode == "slow-once" {
				conf.Timeout = 5 * time.Second // python3 must start within it, while other tests run
			}
			report, err := Inspect(t.Context(), conf, linear(c.clipping), params.Privacy{Clip: 1}, 20, 1)
			require.NoError(t, err)
			if c.demand == "" {
				require.False(t, report.Refuted, "%+v", report)
				return
			}
			require.True(t, report.Refuted)
			for _, f := range report.Findings {
				if f.Demand == c.demand {
					require.False(t, f.Met, "%+v", report)
					require.Contains(t, f.Note, c.note)
					return
				}
			}
			t.Fatalf("%+v", report)
		})
	}
}

// TestBytes compares the example of app/worker/trainer/PROTOCOL.md with the code.
func TestBytes(t *testing.T) {
	text, err := os.ReadFile("../../../app/worker/trainer/PROTOCOL.md")
	require.NoError(t, err)
	var frame bytes.Buffer
	nine := []byte{9, 0, 0, 0}
	require.NoError(t, writeFrame(&frame, frameGradient, append(nine, gradientBody([]float64{1, -0.5}, []int{7, 258})...)))
	require.Contains(t, string(text), spaced(frame.Bytes()))
	group := append(nine, groupRequest(nil, [][]int{{7, 258}})...)
	require.Contains(t, strings.ReplaceAll(string(text), "\n", " "), spaced(group[:16]))
	rows := append(binary.LittleEndian.AppendUint32([]byte{frameRows}, 20), nine...)
	for _, v := range []float32{0.5, 0, 3, 4} {
		rows = binary.LittleEndian.AppendUint32(rows, math.Float32bits(v))
	}
	require.Contains(t, string(text), spaced(rows))
	sum := make([]float64, 2)
	p := &Trainer{clip: 1}
	require.NoError(t, p.sumRows(&reply{Reader: bufio.NewReader(bytes.NewReader(rows)), hasNumber: true, question: 9},
		sum, 2))
	one := clippedTo[params.ClippingRows]
	require.InDeltaSlice(t, []float64{0.5 + 0.6*one, 0.8 * one}, sum, 1e-9)
	require.Contains(t, string(text), "(1.1, 0.8)")
}

func spaced(data []byte) string {
	var parts []string
	for i := range data {
		parts = append(parts, hex.EncodeToString(data[i:i+1]))
	}
	return strings.Join(parts, " ")
}

// FuzzPredicted: accepted probabilities are of labelled rows, and sum to 1.
func FuzzPredicted(f *testing.F) {
	f.Add([]byte("P\x19\x00\x00\x00{\"rows\": 1, \"classes\": 2}" +
		"R\x0c\x00\x00\x00\x00\x00\x80\x3f\x00\x00\x00\x3f\x00\x00\x00\x3f"))
	f.Add([]byte("P\x1d\x00\x00\x00{\"rows\": 0, \"classes\": 1e300}"))
	f.Fuzz(func(t *testing.T, data []byte) {
		p, err := (&Trainer{}).readPredicted(&reply{Reader: bufio.NewReader(bytes.NewReader(data))})
		if err != nil {
			return
		}
		require.Len(t, p.Labels, p.Rows)
		for i, label := range p.Labels {
			row := p.Row(i)
			require.Less(t, int(label), len(row))
			sum := 0.
			for _, chance := range row {
				sum += chance
			}
			require.InDelta(t, 1, sum, farSum)
		}
	})
}

// FuzzRows: reading any answer of a trainer ends, and an accepted sum is finite and within n clip
// norms.
func FuzzRows(f *testing.F) {
	f.Add([]byte("R\x08\x00\x00\x00\x00\x00\x80\x3f\x00\x00\x00\x40"), true)
	f.Add([]byte("X\x03\x00\x00\x00abc"), false)
	f.Add([]byte("S\x10\x00\x00\x00\x00\x00\x00\x00\x00\x00\xf0\x3f\x00\x00\x00\x00\x00\x00\xf0\x3f"), false)
	f.Fuzz(func(t *testing.T, data []byte, rows bool) {
		p, sum := &Trainer{clip: 1}, make([]float64, 2)
		take := p.readSum
		if rows {
			take = p.sumRows
		}
		if err := take(&reply{Reader: bufio.NewReader(bytes.NewReader(data))}, sum, 2); err == nil {
			require.LessOrEqual(t, norm(sum), 2*(1+overClip))
		}
	})
}
