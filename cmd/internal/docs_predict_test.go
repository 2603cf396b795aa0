package internal_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/internal/stage"
)

// frames gives predict.py one patient in several forms, and prints the probability of each.
const frames = `
import json, sys, warnings
import numpy, pandas
import predict
columns = [{"name": "age", "low": 0, "high": 100, "missing": {"fill": 40, "indicator": True}},
           {"name": "grade", "values": ["2", "3"], "others": True}]
card = {"model": {"table": {"classes": ["no", "yes"], "columns": columns}}}
numpy.savez("model.npz", card=json.dumps(card), **{"output.weight": numpy.array([[1.0, 2.0, 3.0, 5.0]])})
model = predict.Model("model.npz")
frame = pandas.DataFrame({"age": [50, None], "grade": [3, None]})
with warnings.catch_warnings(record=True) as said:
    for row in ({"age": "50", "grade": "3"}, {"age": 50, "grade": 3}, {"age": 50.0, "grade": numpy.float64(3)},
                frame.iloc[0], {"age": "", "grade": ""}, {"age": None, "grade": float("nan")}, frame.iloc[1],
                frame.astype("Int64").iloc[1], {"age": "NA", "grade": "three"}, {"age": "NA", "grade": 3.5}):
        print("%.6f" % model.probabilities(row)[1])
by_frame = model.probabilities(frame)
assert by_frame.shape == (2, 2)
assert all((p == model.probabilities(row)).all() for p, (_, row) in zip(by_frame, frame.iterrows()))
assert model.probabilities(frame[:0]).shape == (0, 2)
print(dict(+model.unknown), [str(w.message) for w in said])
`

// TestPredictFrames: a number is read as its text is, 3.0 as the category 3; None and NaN are missing; a text that is
// no category warns, and is counted.
func TestPredictFrames(t *testing.T) {
	python, dir := stage.Python(t, "numpy, pandas"), t.TempDir()
	script, err := filepath.Abs("../../app/worker/trainer/python/spdl_trainer/predict.py")
	require.NoError(t, err)
	run := func(args ...string) (stdout []string, stderr string) {
		var errs strings.Builder
		cmd := exec.Command(python, args...)
		cmd.Dir, cmd.Stderr = dir, &errs
		cmd.Env = append(os.Environ(), "PYTHONPATH="+filepath.Dir(script), "PYTHONDONTWRITEBYTECODE=1")
		out, _ := cmd.Output() // of one run it is the error that is wanted
		return strings.Split(strings.TrimSpace(strings.ReplaceAll(string(out), "\r", "")), "\n"), errs.String()
	}
	lines, stderr := run("-c", frames)
	require.Len(t, lines, 11, stderr)
	for _, line := range lines[1:4] {
		require.Equal(t, lines[0], line)
	}
	for _, line := range lines[5:10] {
		require.Equal(t, lines[4], line)
	}
	require.NotEqual(t, lines[0], lines[4])
	require.Equal(t, `{'grade': 2} ["column 'grade': in 1 of 1 rows the value is missing, and read as none of 2, 3", `+
		`"column 'grade': in 1 of 1 rows the text is none of 2, 3, and read as none"]`, lines[10])

	rows := filepath.Join(dir, "rows.csv")
	require.NoError(t, os.WriteFile(rows, []byte("age;grade\n50;3,0\n50,0;3.0\n;\n50;three\nNA;yes\n"), 0o600))
	answers, stderr := run(script, "model.npz", rows)
	require.Len(t, answers, 6, stderr)
	for i, same := range map[int]int{1: 0, 2: 0, 3: 4, 5: 4} {
		require.Equal(t, lines[same], answers[i][strings.Index(answers[i], ",")+1:], "row %d", i)
	}
	require.Equal(t, "warning: column 'grade': in 2 of 5 rows the text is none of 2, 3, and read as none\n"+
		"warning: column 'grade': in 1 of 5 rows the value is missing, and read as none of 2, 3\n", stderr)
	require.NoError(t, os.WriteFile(rows, []byte("age,grade\n50\n"), 0o600))
	_, stderr = run(script, "model.npz", rows)
	require.Contains(t, stderr, "line 2: another number of values than the header has, 2")
	lines, stderr = run("-c", `import json, numpy
numpy.savez("own.npz", card=json.dumps({"model": {"kind": "external"}}), w=numpy.zeros(2))`)
	require.Empty(t, strings.Join(lines, ""), stderr)
	_, stderr = run(script, "own.npz", rows)
	require.Equal(t, "own.npz is no linear model of a table: the trainer of a study gives the probabilities of its own "+
		"(python3 train.py predict)\n", stderr)

	// What spdl reads is read, a reader may end early, and an error is one line.
	require.NoError(t, os.WriteFile(rows, []byte("age;grade\n50;K\xf6ln\n"), 0o600))
	answers, stderr = run(script, "model.npz", rows)
	require.Len(t, answers, 2, stderr)
	require.Equal(t, "warning: column 'grade': in 1 of 1 rows the text is none of 2, 3, and read as none\n", stderr)
	_, stderr = run(script, "model.npz", "absent.csv")
	require.Equal(t, "[Errno 2] No such file or directory: 'absent.csv'\n", stderr)
	_, stderr = run(script, rows, rows)
	require.Equal(t, rows+" is no file of spdl model export or spdl model adapt\n", stderr)
	require.NoError(t, os.WriteFile(rows, []byte("age,grade\n"+strings.Repeat("50,3\n", 9000)), 0o600))
	_, stderr = run("-c", `import subprocess, sys
p = subprocess.Popen([sys.executable, *sys.argv[1:]], stdout=subprocess.PIPE)
p.stdout.readline()
p.stdout.close()
sys.exit(p.wait() and "failed")`, script, "model.npz", rows)
	require.Empty(t, stderr)
}
