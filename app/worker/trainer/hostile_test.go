package trainer

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/app/params"
	"github.com/spdl/spdl/internal/stage"
)

// hostile starts testdata/hostile.py in a mode.
func hostile(t *testing.T, mode ...string) (*Trainer, *heard) {
	t.Helper()
	c, h := study(t, mode...)
	c.Argv[1] = "testdata/hostile.py"
	p, err := Start(t.Context(), c, linear(params.ClippingRows), params.Privacy{Clip: 1})
	require.NoError(t, err)
	t.Cleanup(p.Close)
	return p, h
}

// TestSecondAnswer: bytes that a trainer writes after its answer are not taken as the answer to the
// next request, which is for another batch and other parameters.
func TestSecondAnswer(t *testing.T) {
	marker := filepath.Join(t.TempDir(), "marker")
	p, _ := hostile(t, "twice", marker)
	sum := make([]float64, 6)
	require.NoError(t, p.ClippedSum(t.Context(), sum, at, []int{1}))
	require.InDelta(t, clippedTo[params.ClippingRows], sum[0], 1e-9)
	require.Eventually(t, func() bool { _, err := os.Stat(marker); return err == nil }, time.Minute, time.Millisecond)
	err := p.ClippedSum(t.Context(), sum, at, []int{0})
	require.ErrorIs(t, err, ErrTrainer)
	require.ErrorContains(t, err, "nothing asked for")
}

// TestMissingRows: of a trainer that answers a batch with one row, the error says how many rows came,
// and the check ends there: with each further demand it would wait as long.
func TestMissingRows(t *testing.T) {
	stage.OnlyLong(t)
	t.Parallel()
	c, _ := study(t, "one-row")
	c.Argv[1], c.Timeout = "testdata/hostile.py", 5*time.Second // python3 must start within it
	report, err := Inspect(t.Context(), c, linear(params.ClippingRows), params.Privacy{Clip: 1}, 20, 1)
	require.NoError(t, err)
	require.True(t, report.Refuted)
	last := report.Findings[len(report.Findings)-1]
	require.Equal(t, "a batch is answered in time", last.Demand)
	require.Equal(t, "trainer failed: no answer in time: 1 of 20 rows came, want one for each example, no mean over the "+
		"batch", last.Note)
}

// TestPipesHeldOpen: the worker does not wait for a trainer that has ended, even if a process that
// it started holds its standard input and output open.
func TestPipesHeldOpen(t *testing.T) {
	t.Parallel()
	p, _ := hostile(t, "grandchild")
	begin := time.Now()
	require.ErrorContains(t, p.ClippedSum(t.Context(), make([]float64, 6), at, []int{1}),
		"it ended by itself (exit status 7)")
	require.Less(t, time.Since(begin), 10*time.Second, "the time for an answer is 20 s")
}

// TestStatusOfASlowEnd: the error for a trainer that closes its standard output and ends later has its exit
// status, and the error for one that does not end comes within the time for an answer.
func TestStatusOfASlowEnd(t *testing.T) {
	stage.OnlyLong(t)
	t.Parallel()
	for end, want := range map[string]string{
		"sleep 3; exit 7": "it ended by itself (exit status 7)",
		"sleep 1000":      "it closed its standard output: EOF",
	} {
		c := Config{Argv: []string{stage.Tool(t, "sh"), "-c", "exec >&-; " + end}, Timeout: 8 * time.Second}
		c.Sandbox.Off = true
		begin := time.Now()
		_, err := Start(t.Context(), c, linear(params.ClippingRows), params.Privacy{Clip: 1})
		require.ErrorContains(t, err, want)
		require.Less(t, time.Since(begin), 20*time.Second)
	}
}

// TestStartAndAnswerHaveATimeEach: after a failure the start of a trainer has a whole timeout, as
// its first start had, and not the rest of the failed call's timeout.
func TestStartAndAnswerHaveATimeEach(t *testing.T) {
	stage.OnlyLong(t)
	t.Parallel()
	p, _ := hostile(t, "slow-start", filepath.Join(t.TempDir(), "marker"))
	require.ErrorContains(t, p.ClippedSum(t.Context(), make([]float64, 6), at, []int{1}), "it ended by itself")
	time.Sleep(5 * time.Millisecond)
	p.config.Timeout = 3900 * time.Millisecond // 2 s to start, 2 s to answer
	require.NoError(t, p.ClippedSum(t.Context(), make([]float64, 6), at, []int{1}))
}

// TestFloodOfLines: a trainer cannot fill the disk with its log, and its last line is still logged.
func TestFloodOfLines(t *testing.T) {
	p, h := hostile(t, "flood")
	require.ErrorContains(t, p.ClippedSum(t.Context(), make([]float64, 6), at, []int{1}), "exit status 7")
	require.Less(t, strings.Count(h.String(), "a line"), 5000)
	require.Contains(t, h.String(), "lines are left out")
	require.Contains(t, h.String(), "trainer: the last words\n")
}

// TestLogOfADay: a trainer that writes as much as it can to standard error, and starts again each second,
// fills a disk with 4000 bytes a second.
func TestLogOfADay(t *testing.T) {
	logged, now, total := new(allowance), time.Now(), 0
	for range 24 * 60 * 60 {
		now = now.Add(time.Second)
		for range 200 {
			if logged.take(maxLine, now) {
				total += maxLine
			}
		}
	}
	require.LessOrEqual(t, total, bytesAtOnce+24*60*60*bytesASecond)
	require.Greater(t, total, 300_000_000)
}

// TestInspectWhatATrainerSaysOfItsExamples: a claimed number of examples takes no memory, and if a
// trainer has a single example, the check does not compare examples.
func TestInspectWhatATrainerSaysOfItsExamples(t *testing.T) {
	for _, mode := range []string{"many", "one"} {
		c, _ := study(t, mode)
		c.Argv[1] = "testdata/hostile.py"
		report, err := Inspect(t.Context(), c, linear(params.ClippingRows), params.Privacy{Clip: 1}, 20, 1)
		require.NoError(t, err)
		require.False(t, report.Refuted, "%s: %+v", mode, report)
	}
}
