package cli

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/abci/home"
	"github.com/spdl/spdl/abci/proof"
	"github.com/spdl/spdl/app/model/inputs"
	"github.com/spdl/spdl/app/model/table"
	"github.com/spdl/spdl/app/params"
	"github.com/spdl/spdl/app/preset"
	"github.com/spdl/spdl/app/worker/trainer"
	"github.com/spdl/spdl/app/worker/trainer/sandbox"
	"github.com/spdl/spdl/cmd/internal/cli/prove"
	"github.com/spdl/spdl/internal/stage"
	"github.com/spdl/spdl/mnist"
	"github.com/spdl/spdl/testnet"
)

// linearModel is a file whose functions build linear models, and one that cannot be trained.
const linearModel = `import numpy as np
def build():
    return {"w": np.zeros((3, 3)), "b": np.zeros(3)}
def forest():
    return object()
def fails():
    raise RuntimeError("no luck")
`

// groupedModel is a file whose function builds a linear model of a table of two columns.
const groupedModel = `import numpy as np
def build():
    return {"w": np.zeros((2, 2)), "b": np.zeros(2)}
`

// ownData is a model's file that loads its data: from where the study keeps them, or itself.
const ownData = `import numpy as np
from spdl_trainer import data
def load(hello):
    return data.images(hello.data)
def build():
    return {"w": np.zeros((10, 784)), "b": np.zeros(10)}
`
const noData = `import numpy as np
def load(hello):
    x = np.arange(40.0).reshape(10, 4)
    return x, np.arange(10) % 3, x, np.arange(10) % 3
def build():
    return {"w": np.zeros((3, 4)), "b": np.zeros(3)}
`

// fromMinusOne is noData with labels that are one too small.
var fromMinusOne = strings.Replace(noData, "return x, np.arange(10) % 3", "return x, np.arange(10) % 3 - 1", 1)

// written writes a file into a new folder and returns its path.
func written(t *testing.T, name, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	require.NoError(t, os.WriteFile(path, []byte(content), 0o600))
	return path
}

// TestNewModule: a function's model and a table make a study that keeps the trainer's promises, with
// the examples that the built-in models have, and that is rejected once the model is another.
func TestNewModule(t *testing.T) {
	python, my, csv := stage.Python(t, "numpy"), written(t, "my.py", linearModel), patients(t, 1000)
	dir := filepath.Join(t.TempDir(), "made", "study")
	stdout, stderr, code := spdl(t, "new", dir, "--module", my+":build", "--python", python, "--data", csv, "--label",
		"diagnosis")
	require.Zero(t, code, stderr)
	require.Contains(t, stderr, "ends of the columns and the names of the classes are public")
	require.Contains(t, stdout, "w       [3 3]  zeros")
	require.Contains(t, stdout, "SPDL clips each example's gradient")
	p, err := preset.Load(filepath.Join(dir, "params.json"))
	require.NoError(t, err)
	require.Equal(t, []params.Tensor{{Name: "w", Shape: []uint32{3, 3}, Init: params.InitZeros},
		{Name: "b", Shape: []uint32{3}, Init: params.InitZeros}}, p.Model.Tensors)

	script := filepath.Join(dir, "train.py")
	stdout, stderr, code = spdl(t, "trainer", "check", script, "--python", python, "-o", "json")
	require.Zero(t, code, stdout+stderr)
	var report struct {
		Examples int
		Tensors  []struct{ Name string }
	}
	require.NoError(t, json.Unmarshal([]byte(stdout), &report))
	own, err := preset.Source{Path: csv, Label: "diagnosis"}.Read()
	require.NoError(t, err)
	data, err := table.Load(csv, *own.Table)
	require.NoError(t, err)
	require.Equal(t, data.Train.Len(), report.Examples, "the rows of the built-in models")
	require.Len(t, report.Tensors, 2)

	changed := `import numpy as np
def build():
    return {"w": np.zeros((3, 3)), "bias": np.zeros(3)}
`
	require.NoError(t, os.WriteFile(filepath.Join(dir, "my.py"), []byte(changed), 0o600))
	stdout, stderr, code = spdl(t, "trainer", "check", script, "--python", python)
	require.Equal(t, 1, code)
	require.Regexp(t, `b +- +\[3\] +DIFFERS\nbias +\[3\] +- +DIFFERS`, stdout)
	require.Contains(t, stderr, "the trainer's model is not that of the parameters: tensor b of the parameters")
}

// TestNewModuleWithGroupsOfLoad: where load returns groups, they are the unit, and the check warns
// if the unit of the parameters is changed to an example.
func TestNewModuleWithGroupsOfLoad(t *testing.T) {
	stage.OnlyLong(t)
	python := stage.Python(t, "numpy")
	my := written(t, "my.py", strings.Replace(noData, " % 3\ndef", " % 3, np.arange(10) // 2\ndef", 1))
	dir := filepath.Join(t.TempDir(), "study")
	stdout, stderr, code := spdl(t, "new", dir, "--module", my+":build", "--python", python, "--validators", "1")
	require.Zero(t, code, stderr)
	require.Contains(t, stderr, "load returns groups: the unit is a group")
	require.Contains(t, stdout, "clips each group's gradient")
	file := filepath.Join(dir, "params.json")
	p, err := preset.Load(file)
	require.NoError(t, err)
	require.Equal(t, params.UnitGroup, p.Privacy.Unit)

	check := func() string {
		stdout, stderr, code := spdl(t, "trainer", "check", filepath.Join(dir, "train.py"), "--python", python)
		require.Zero(t, code, stdout+stderr)
		return stderr
	}
	require.NotContains(t, check(), trainer.GroupsIgnored)
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	byExample := regexp.MustCompile(`,\s*"unit": *"group"`).ReplaceAll(text, nil)
	require.NotEqual(t, text, byExample)
	require.NoError(t, os.WriteFile(file, byExample, 0o600))
	require.Contains(t, check(), trainer.GroupsIgnored)
}

// TestNewGroupedModule: a study of a table with groups has the groups of the built-in models and keeps
// its promises with them in both ways of clipping.
func TestNewGroupedModule(t *testing.T) {
	stage.OnlyLong(t)
	python, my := stage.Python(t, "numpy"), written(t, "my.py", groupedModel)
	var text strings.Builder
	text.WriteString("patient,age,weight,ill\n")
	for i := range 400 {
		fmt.Fprintf(&text, "p%d,%d,%d,%s\n", i*i%130, i*7%80, i*13%60, []string{"no", "yes"}[i%2])
	}
	csv := written(t, "visits.csv", text.String())
	own, err := preset.Source{Path: csv, Label: "ill", Group: "patient"}.Read()
	require.NoError(t, err)
	data, err := table.Load(csv, *own.Table)
	require.NoError(t, err)
	for clipping, says := range map[string]string{"rows": "SPDL clips each group's gradient",
		"sum": "the trainer clips each group's gradient"} {
		dir := filepath.Join(t.TempDir(), "study")
		stdout, stderr, code := spdl(t, "new", dir, "--module", my+":build", "--python", python, "--data", csv, "--label",
			"ill", "--group", "patient", "--clipping", clipping)
		require.Zero(t, code, stderr)
		require.Contains(t, stdout, says)
		p, err := preset.Load(filepath.Join(dir, "params.json"))
		require.NoError(t, err)
		_, err = p.Validate(4)
		require.NoError(t, err)
		require.Equal(t, params.UnitGroup, p.Privacy.Unit)
		stdout, stderr, code = spdl(t, "trainer", "check", filepath.Join(dir, "train.py"), "--python", python, "-o", "json")
		require.Zero(t, code, stdout+stderr)
		var report struct{ Examples, Protocol int }
		require.NoError(t, json.Unmarshal([]byte(stdout), &report))
		require.Equal(t, len(mnist.ByGroup(data.Train.Groups)), report.Examples, "the groups of the built-in models")
		require.Equal(t, 2, report.Protocol)
	}
}

// schemaModel is a file whose function builds a linear model for whatever inputs the data have.
const schemaModel = `import numpy as np
def build(hello, data):
    return {"w": np.zeros((2, data[0].shape[1])), "b": np.zeros(2)}
`

// TestNewModuleOfSchema: with a schema a module of one's own has the inputs of the built-in models bit for bit, on the
// same sides, and the group of the schema is the unit of privacy.
func TestNewModuleOfSchema(t *testing.T) {
	python, my, csv := stage.Python(t, "numpy"), written(t, "my.py", schemaModel), hospitals(t, 900)
	drafted, dir := filepath.Join(t.TempDir(), "schema.json"), filepath.Join(t.TempDir(), "study")
	_, stderr, code := spdl(t, "schema", "draft", csv, "--label", "outcome", "--group", "id", "--out", drafted)
	require.Zero(t, code, stderr)
	create := func(schema, dir string) (string, string, int) {
		return spdl(t, "new", dir, "--module", my+":build", "--python", python, "--data", csv, "--schema", schema)
	}
	stdout, stderr, code := create(drafted, dir)
	require.Zero(t, code, stderr)
	require.Contains(t, stdout, "SPDL clips each group's gradient")
	require.Contains(t, stderr, "a row has 9 inputs, those of the built-in models")
	clip := regexp.MustCompile(`epsilon 2, clip norm (\S+),`).FindStringSubmatch(stdout)
	require.NotNil(t, clip, stdout)
	norm, err := strconv.ParseFloat(clip[1], 64)
	require.NoError(t, err)
	require.True(t, norm > 1 && norm < 4, "the schema says how large gradients are at the start: %g", norm)
	stdout, stderr, code = spdl(t, "trainer", "check", dir, "--python", python) // the study's train.py
	require.Zero(t, code, stdout+stderr)
	require.Contains(t, stderr, "checking: a batch is answered in time")

	own, err := preset.Source{Path: csv, Schema: drafted}.Read()
	require.NoError(t, err)
	p, err := preset.Make("default", 4, preset.Own{Data: &own})
	require.NoError(t, err)
	data, err := table.Load(csv, *own.Table)
	require.NoError(t, err)
	var want []byte
	for _, set := range []mnist.Set{data.Train, data.Test} {
		f, err := inputs.Features(set, nil, p.Model, inputs.Keep{})
		require.NoError(t, err)
		for _, x := range f.X {
			want = binary.LittleEndian.AppendUint32(want, math.Float32bits(x))
		}
		want = append(want, f.Labels...)
	}
	cmd := exec.Command(python, "-B", "-c", `import json, sys
from spdl_trainer import data
config = json.loads(json.load(open("params.json"))["model"]["config"])
x, y, x_test, y_test, _ = data.table(config["data"], config["table"], config["centred"])
for a in (x, y.astype("u1"), x_test, y_test.astype("u1")):
    sys.stdout.buffer.write(a.tobytes())`)
	cmd.Dir = dir
	got, err := cmd.Output()
	require.NoError(t, err)
	require.True(t, bytes.Equal(want, got), "%d and %d bytes", len(want), len(got))

	weighed := strings.Replace(read(t, drafted), `"rate"`, `"weights":[1,4],"rate"`, 1)
	for says, schema := range map[string]string{
		"has weights [1 4] of classes, which are for built-in models": weighed,
		`line 2, column "smoker": no finite number`: regexp.MustCompile(`"smoker",[^}]*`).ReplaceAllString(
			read(t, drafted), `"smoker","low":0,"high":1`),
		`column "age" is from 90 to 5, want numbers, the larger one second`: regexp.MustCompile(
			`"age","low":[^,]*,"high":[^,]*`).ReplaceAllString(read(t, drafted), `"age","low":90,"high":5`),
	} {
		_, stderr, code := create(written(t, "schema.json", schema), filepath.Join(t.TempDir(), "study"))
		require.Equal(t, 1, code, stderr)
		require.Contains(t, stderr, says)
	}
	_, stderr, code = spdl(t, "new", dir+"2", "--module", my+":build", "--schema", drafted)
	require.Equal(t, 2, code)
	require.Contains(t, stderr, "schema.json\" describes one: name the file with --data")
}

// TestModuleOfSites: each node of a localnet with a trainer and sites trains on its site's file alone, and there is no
// net if a site's trainer cannot read its file. Part and parts are set in one command.
func TestModuleOfSites(t *testing.T) {
	python, my := stage.Python(t, "numpy"), written(t, "my.py", schemaModel)
	north := written(t, "site0-north.csv", read(t, hospitals(t, 900)))
	south := written(t, "süd.csv", read(t, hospitals(t, 500)))
	drafted, dir, net := filepath.Join(t.TempDir(), "schema.json"), filepath.Join(t.TempDir(), "study"), filepath.Join(
		t.TempDir(), "net")
	_, stderr, code := spdl(t, "schema", "draft", north, south, "--label", "outcome", "--out", drafted)
	require.Zero(t, code, stderr)
	_, stderr, code = spdl(t, "new", dir, "--module", my+":build", "--python", python, "--data", north, "--schema",
		drafted, "--validators", "2")
	require.Zero(t, code, stderr)
	manifest, plain := filepath.Join(dir, "net.toml"), read(t, filepath.Join(dir, "net.toml"))
	of := func(sites ...string) (string, int) {
		line := fmt.Sprintf("sites = %q\n", sites)
		require.NoError(t, os.WriteFile(manifest, []byte(strings.ReplaceAll(line, `" "`, `", "`)+plain), 0o600))
		_, stderr, code := spdl(t, "testnet", "init", "--manifest", manifest, "--home", net)
		return stderr, code
	}
	stderr, code = of(north, written(t, "south.csv", strings.Replace(read(t, south), "outcome", "result", 1)))
	require.Equal(t, 1, code)
	require.Contains(t, stderr, "node 1's trainer")
	require.Contains(t, stderr, "has no column outcome")
	require.NoDirExists(t, net)
	stderr, code = of(north, south)
	require.Zero(t, code, stderr)
	for i, path := range []string{north, south} {
		c, a, err := home.Load(filepath.Join(net, fmt.Sprintf("node%d", i)))
		require.NoError(t, err)
		require.Equal(t, []any{path, 0, 1}, []any{a.Worker.Data, a.Worker.Part, a.Worker.Parts})
		require.Equal(t, []string{"north", "node1"}[i], c.Moniker, "a file's name that may be a moniker")
	}

	wide := written(t, "west.csv", strings.ReplaceAll(read(t, south), "\n", ";x\n")) // a column that the schema has not
	create := func(dir string, more ...string) (string, int) {
		_, stderr, code := spdl(t, append([]string{"new", dir, "--module", my + ":build", "--python", python, "--sites",
			north + "," + wide}, more...)...)
		return stderr, code
	}
	stderr, code = create(dir + "2")
	require.Equal(t, 2, code)
	require.Contains(t, stderr, "--sites wants --module and --schema, and no --data or --validators")
	stderr, code = create(dir+"2", "--schema", drafted, "--learning-rate", "0.125")
	require.Zero(t, code, stderr)
	require.Contains(t, read(t, filepath.Join(dir+"2", "params.json")), `"learning_rate": 0.125`)
	require.Contains(t, read(t, filepath.Join(dir+"2", "net.toml")), `sites = ["sites/site0-north.csv", "sites/west.csv"]`)
	require.Equal(t, read(t, north), read(t, filepath.Join(dir+"2", "sites", "site0-north.csv")))
	require.NotContains(t, read(t, filepath.Join(dir+"2", "sites", "west.csv")), ";x")
	require.NoFileExists(t, filepath.Join(dir+"2", "all.csv"))
	_, stderr, code = spdl(t, "testnet", "init", "--manifest", filepath.Join(dir+"2", "net.toml"), "--home", net+"2")
	require.Zero(t, code, stderr)

	node := filepath.Join(net, "node1")
	_, stderr, code = spdl(t, "config", "set", "worker.part", "1", "--home", node)
	require.Equal(t, 2, code)
	require.Contains(t, stderr, "config set worker.part 0 worker.parts 1 sets both")
	_, stderr, code = spdl(t, "config", "set", "worker.part", "1", "worker.parts", "2", "--home", node)
	require.Zero(t, code, stderr)
}

// TestGainOfModule: the study's trainer gives a member's rows the probabilities of the exported model, and gain
// measures them, as predict's file says them; the net's last line has the AUC of its module. A file of adapt keeps the
// module, predict gives its rows the odds that adapt fitted, and what would leave them out rejects it.
func TestGainOfModule(t *testing.T) {
	stage.OnlyLong(t) // runs a net
	python, my, csv := stage.Python(t, "numpy"), written(t, "my.py", schemaModel), hospitals(t, 900)
	drafted, dir := filepath.Join(t.TempDir(), "schema.json"), filepath.Join(t.TempDir(), "study")
	_, stderr, code := spdl(t, "schema", "draft", csv, "--label", "outcome", "--out", drafted)
	require.Zero(t, code, stderr)
	_, stderr, code = spdl(t, "new", dir, "--module", my+":build", "--python", python, "--data", csv, "--schema", drafted,
		"--rounds", "3", "--epsilon", "8")
	require.Zero(t, code, stderr)
	net, last := staying(t, "--manifest", filepath.Join(dir, "net.toml"))
	require.Contains(t, last.Measures.String(), "guessing outcome=")
	require.Regexp(t, `AUC 0\.[5-9].* recall of outcome=`, last.Measures.String())
	file := filepath.Join(dir, "m.safetensors")
	_, stderr, code = spdl(t, "model", "export", "--node", net.Nodes[1].RPC, "--out", file)
	require.Zero(t, code, stderr)
	predict := func(file string) []string {
		out, err := exec.Command(python, "-B", filepath.Join(dir, "train.py"), "predict", file, csv).Output()
		require.NoError(t, err)
		return strings.Split(strings.TrimSpace(string(out)), "\n")
	}
	said := predict(file)
	require.Len(t, said, 901)
	t.Chdir(dir)
	gain := func(more ...string) (stdout string) {
		args := append([]string{"model", "gain", file, "--trainer", python + " train.py"}, more...)
		stdout, stderr, code := spdl(t, args...)
		require.Zero(t, code, stderr)
		return stdout
	}
	stdout := gain("--data", csv)
	require.Regexp(t, `(?s)shared +0\.[5-9].*\nalone +0\.[6-9]`, stdout)
	require.Contains(t, stdout, "name the home by --home")
	brier, n := 0., 0.
	for _, line := range said[1:] {
		cell := strings.Split(line, ",")
		if cell[0] == "test" {
			p, err := strconv.ParseFloat(cell[3], 64)
			require.NoError(t, err)
			label := map[bool]float64{true: 1}[cell[1] == last.Measures.Positive[len("outcome="):]]
			brier, n = brier+(p-label)*(p-label), n+1
		}
	}
	require.Regexp(t, fmt.Sprintf(`\nshared +\S+ \([^)]*\) +%.4f `, brier/n), stdout)
	node := filepath.Join(t.TempDir(), "node")
	_, stderr, code = spdl(t, "init", "--home", node)
	require.Zero(t, code, stderr)
	require.Contains(t, gain("--data", csv, "--home", node), "this home has no worker.data")
	_, stderr, code = spdl(t, "config", "set", "worker.data", csv, "--home", node)
	require.Zero(t, code, stderr)
	require.NotContains(t, gain("--home", node), "warning")
	_, stderr, code = spdl(t, "model", "gain", file, "--data", csv)
	require.Equal(t, 2, code)
	require.Contains(t, stderr, "its trainer measures it: name it with --trainer")

	own, adapted := filepath.Join(dir, "own.npz"), filepath.Join(dir, "adapted.npz")
	for _, c := range []struct {
		out, way, says string
		code           int
	}{
		{own, "intercept", "", 0}, {adapted, "adapted", "", 0}, {own + ".npz", "alone", "and no module: want intercept", 2},
	} {
		_, stderr, code = spdl(t, "model", "adapt", file, "--home", node, "--trainer", python+" train.py", "--out", c.out,
			"--choose", c.way)
		require.Equal(t, c.code, code, stderr)
		require.Contains(t, stderr, c.says)
	}
	odds := func(line string) float64 {
		p, err := strconv.ParseFloat(strings.Split(line, ",")[3], 64)
		require.NoError(t, err)
		return math.Log(p / (1 - p))
	}
	part := regexp.MustCompile(`times (\S+) and plus (\S+)`).FindStringSubmatch(gain("--home", node))
	slope, err := strconv.ParseFloat(part[1], 64)
	require.NoError(t, err)
	plus, err := strconv.ParseFloat(part[2], 64)
	require.NoError(t, err)
	shifted, fitted := predict(own), predict(adapted)
	shift := odds(shifted[1]) - odds(said[1])
	require.NotZero(t, shift)
	for i := range said[1:] {
		require.InDelta(t, odds(said[1+i])+shift, odds(shifted[1+i]), 1e-5)
		require.InDelta(t, slope*odds(said[1+i])+plus, odds(fitted[1+i]), 1e-2)
	}
	mean, rate, rows := 0., 0., 0.
	for _, line := range shifted[1:] {
		if cell := strings.Split(line, ","); cell[0] == "train" {
			mean, rows = mean+1/(1+math.Exp(-odds(line))), rows+1
			if cell[1] == last.Measures.Positive[len("outcome="):] {
				rate++
			}
		}
	}
	require.InDelta(t, rate/rows, mean/rows, 0.002, "the intercept of the training rows is %g", shift)
	f, _, err := prove.Read(adapted)
	require.NoError(t, err)
	require.NoError(t, f.Check())
	require.ErrorIs(t, f.CheckProven(), proof.ErrNotProven)
	require.Equal(t, f.Card.ModelHash, f.Card.Adapted.Hash, "the parameters are the chain's")
	_, stderr, code = spdl(t, "model", "eval", adapted, "--home", node)
	require.Equal(t, 1, code)
	require.Contains(t, stderr, "spdl model gain of the model from which it began measures it, as adapted")
	said2, err := exec.Command(python, "-B", "-m", "spdl_trainer", "merge", adapted, adapted, "--out", "x.npz").
		CombinedOutput()
	require.Error(t, err)
	require.Contains(t, string(said2), "which are no tensors: merge the model of spdl model export")
}

// read returns the content of a file.
func read(t *testing.T, path string) string {
	t.Helper()
	content, err := os.ReadFile(path)
	require.NoError(t, err)
	return string(content)
}

// TestNewModuleOnGroupsOfImages: a study of a folder with a file of groups has those groups, and keeps
// its promises with them.
func TestNewModuleOnGroupsOfImages(t *testing.T) {
	stage.OnlyLong(t)
	python, folder := stage.Python(t, "numpy"), squares(t)
	my := written(t, "my.py", `import numpy as np
def build():
    return {"w": np.zeros((5, 144)), "b": np.zeros(5)}
`)
	groups := filepath.Join(folder, mnist.GroupsFile)
	text := "image,group\n"
	for i := range 2000 {
		text += fmt.Sprintf("%d,p%d\n", i, i*i%130)
	}
	require.NoError(t, os.WriteFile(groups, []byte(text), 0o600))
	d, err := mnist.Load(folder)
	require.NoError(t, err)
	dir := filepath.Join(t.TempDir(), "study")
	stdout, stderr, code := spdl(t, "new", dir, "--module", my+":build", "--python", python, "--data", folder)
	require.Zero(t, code, stderr)
	require.Contains(t, stdout, "SPDL clips each group's gradient")
	stdout, stderr, code = spdl(t, "trainer", "check", filepath.Join(dir, "train.py"), "--python", python, "-o", "json")
	require.Zero(t, code, stdout+stderr)
	var report struct{ Examples int }
	require.NoError(t, json.Unmarshal([]byte(stdout), &report))
	require.Equal(t, len(mnist.ByGroup(d.Train.Groups)), report.Examples)

	for want, line := range map[string]string{"line 2002: image 1 has a group already": "1,p",
		"line 2002: image '2000', want the index of one of the 2000 images": "2000,p"} {
		require.NoError(t, os.WriteFile(groups, []byte(text+line+"\n"), 0o600))
		_, stderr, code = spdl(t, "new", filepath.Join(t.TempDir(), "study"), "--module", my+":build", "--python", python,
			"--data", folder)
		require.NotZero(t, code)
		require.Contains(t, stderr, want)
	}
}

// TestModuleLoads: a study has MNIST unless its load makes the data itself, and is right either way.
func TestModuleLoads(t *testing.T) {
	stage.OnlyLong(t)
	python := stage.Python(t, "numpy")
	for content, kept := range map[string]bool{ownData: true, noData: false} {
		dir := t.TempDir() // which is there, and empty
		_, stderr, code := spdl(t, "new", dir, "--module", written(t, "my.py", content)+":build", "--python", python,
			"--validators", "1")
		require.Zero(t, code, stderr)
		_, err := os.Stat(filepath.Join(dir, "data"))
		require.Equal(t, kept, err == nil)
		stdout, stderr, code := spdl(t, "trainer", "check", filepath.Join(dir, "train.py"), "--python", python)
		require.Zero(t, code, stdout+stderr)
	}
}

// TestNetOfUnfitData: a net whose trainers would reject their data is not made.
func TestNetOfUnfitData(t *testing.T) {
	python, dir := stage.Python(t, "numpy"), filepath.Join(t.TempDir(), "study")
	_, stderr, code := spdl(t, "new", dir, "--module", written(t, "my.py", noData)+":build", "--python", python,
		"--validators", "1")
	require.Zero(t, code, stderr)
	manifest, before, net := filepath.Join(dir, "net.toml"), filepath.Join(t.TempDir(), "net"),
		filepath.Join(t.TempDir(), "net")
	_, stderr, code = spdl(t, "testnet", "init", "--manifest", manifest, "--home", before)
	require.Zero(t, code, stderr)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "my.py"), []byte(fromMinusOne), 0o600))
	_, stderr, code = spdl(t, "testnet", "init", "--manifest", manifest, "--home", net)
	require.Equal(t, 1, code)
	const says = "trainer failed: it did not start: it says: load of my.py: y[0] is no label"
	require.Contains(t, stderr, says)
	require.NoDirExists(t, net)
	stdout, stderr, code := spdl(t, "trainer", "check", filepath.Join(dir, "train.py"), "--python", python)
	require.Equal(t, 1, code)
	require.Contains(t, stdout, says)
	require.NotContains(t, stderr, "Traceback")
	made, err := testnet.Open(before)
	require.NoError(t, err)
	require.ErrorContains(t, made.CheckTrainer(), says)
}

// TestModulesThatAreNone: what cannot become a study is said in a sentence, and leaves nothing.
func TestModulesThatAreNone(t *testing.T) {
	stage.OnlyLong(t)
	python, my := stage.Python(t, "numpy"), written(t, "my.py", linearModel)
	parent := t.TempDir()
	for _, c := range []struct {
		says string
		code int
		args []string
	}{
		{"want FILE.py:FUNCTION", 2, []string{"--module", my}},
		{"the study has a train of its own", 2, []string{"--module", "train.py:build"}},
		{"names a column of a CSV file", 2, []string{"--module", my + ":build", "--label", "x"}},
		{"--group \"p\" names a column of a CSV file: name its labels", 2,
			[]string{"--module", my + ":build", "--group", "p"}},
		{"--data, --label, --schema, --group and --adapt are for --module", 2, []string{"--data", my}},
		{"a study has one model", 2, []string{"--module", my + ":build", "--template", "sklearn"}},
		{"build returns a object, want a torch.nn.Module", 1, []string{"--module", my + ":forest"}},
		{"has no function none", 1, []string{"--module", my + ":none"}},
		{"my.py:fails fails: my.py:7: RuntimeError: no luck", 1, []string{"--module", my + ":fails"}},
		{"array w has shape [3, 3], and the data have 784 inputs and 10 classes", 1, []string{"--module", my + ":build"}},
		{"load of my.py: y[0] is no label from 0 to 2, as array w has 3 rows; 4 of 10 labels are outside", 1,
			[]string{"--module", written(t, "my.py", fromMinusOne) + ":build"}},
		{"python has no no_such_module: install it for this interpreter", 1,
			[]string{"--module", written(t, "my.py", "import no_such_module") + ":build"}},
		{"no interpreter no-such-python: name one with --python", 1, []string{"--module", my + ":build", "--python",
			"no-such-python"}},
	} {
		link := filepath.Join(t.TempDir(), "python")
		require.NoError(t, os.WriteFile(link, []byte("#!/bin/sh\nexec '"+python+"' \"$@\"\n"), 0o700))
		_, stderr, code := spdl(t, append([]string{"new", filepath.Join(parent, "study"), "--python", link}, c.args...)...)
		require.Equal(t, c.code, code, stderr)
		require.Contains(t, stderr, c.says)
		left, err := os.ReadDir(parent)
		require.NoError(t, err)
		require.Empty(t, left)
	}
}

// TestTorchModules: a module of PyTorch is described, and one without a gradient of each example
// rejected with its layer.
func TestTorchModules(t *testing.T) {
	stage.OnlyLong(t)
	python := stage.Python(t, "numpy, torch")
	my := written(t, "my.py", `from torch import nn
def build():
    return nn.Sequential(nn.Flatten(), nn.Linear(784, 2000), nn.ReLU(), nn.Linear(2000, 10))
def normalised():
    return nn.Sequential(nn.Flatten(), nn.Linear(784, 16), nn.BatchNorm1d(16), nn.Linear(16, 10))
def softmax():
    return nn.Sequential(nn.Flatten(), nn.Linear(784, 10), nn.Softmax(1))
def large():
    return nn.Sequential(nn.Flatten(), nn.Linear(784, 3000), nn.Linear(3000, 10))
`)
	dir := filepath.Join(t.TempDir(), "study")
	_, stderr, code := spdl(t, "new", dir, "--module", my+":normalised", "--python", python)
	require.Equal(t, 1, code)
	require.Contains(t, stderr, `layer "2" (BatchNorm1d): batch normalisation mixes examples: use GroupNorm`)
	_, stderr, code = spdl(t, "new", dir, "--module", my+":large", "--python", python)
	require.Equal(t, 1, code)
	require.Contains(t, stderr, "the model has 2385010 parameters, at most 2097152: the largest tensor is 1.weight")
	const doubt = "warning: the outputs of the module for each of 8 examples are from 0 to 1 and sum to 1"
	twice := filepath.Join(t.TempDir(), "softmax")
	_, stderr, code = spdl(t, "new", twice, "--module", my+":softmax", "--python", python, "--validators", "1")
	require.Zero(t, code, stderr)
	require.Contains(t, stderr, doubt)
	_, stderr, code = spdl(t, "trainer", "check", filepath.Join(twice, "train.py"), "--python", python)
	require.Zero(t, code, stderr)
	require.Contains(t, stderr, doubt)
	stdout, stderr, code := spdl(t, "new", dir, "--module", my+":build", "--python", python)
	require.Zero(t, code, stderr)
	require.NotContains(t, stderr, doubt)
	require.Contains(t, stdout, "the trainer clips each example's gradient")
	p, err := preset.Load(filepath.Join(dir, "params.json"))
	require.NoError(t, err)
	require.Equal(t, params.Tensor{Name: "1.weight", Shape: []uint32{2000, 784}, Init: params.InitNormal},
		p.Model.Tensors[0])
	require.Equal(t, params.ClippingSum, p.Model.Clipping)
}

// TestStepsOfModules: a hidden layer on many inputs lowers the learning rate where the scale of the inputs is
// public, and warns where load reads them.
func TestStepsOfModules(t *testing.T) {
	stage.OnlyLong(t)
	python := stage.Python(t, "numpy, torch")
	const model = `import numpy as np
from torch import nn
def build():
    return nn.Sequential(nn.Flatten(), nn.Linear(784, 16), nn.ReLU(), nn.Linear(16, 10))
`
	const load = `def load(hello):
    x, y = np.zeros((8000, 784), "float32"), np.zeros(8000, int)
    return x, y, x, y
`
	for _, c := range []struct{ text, says string }{
		{model, "and not 2: with longer steps the first layer's units may go dead"},
		{model + load, "warning: at a learning rate above 0."},
	} {
		dir := filepath.Join(t.TempDir(), "study")
		_, stderr, code := spdl(t, "new", dir, "--module", written(t, "my.py", c.text)+":build", "--python", python)
		require.Zero(t, code, stderr)
		require.Contains(t, stderr, c.says)
		p, err := preset.Load(filepath.Join(dir, "params.json"))
		require.NoError(t, err)
		if c.text == model {
			require.InDelta(t, 0.93, p.Training.LearningRate, 0.25)
		} else {
			require.Equal(t, 2.0, p.Training.LearningRate, "nobody's rows decide")
		}
	}
}

// pretrained is a file whose functions build a module with a frozen layer, and one of which training changes
// a frozen tensor.
const pretrained = `import torch
from torch import nn
def build():
    torch.manual_seed(1)
    body = nn.Sequential(nn.Flatten(), nn.Linear(784, 8), nn.BatchNorm1d(8), nn.ReLU()).requires_grad_(False).eval()
    torch.seed()
    return nn.Sequential(body, nn.Linear(8, 10))
class Normed(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv, self.norm, self.out = nn.Conv2d(1, 8, 3), nn.GroupNorm(2, 8), nn.Linear(5408, 10)
    def forward(self, x):
        return self.out(self.norm(self.conv(x)).flatten(1))
def normed():
    return Normed()
class Restless(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(1)
        self.base, self.head = nn.Linear(784, 8).requires_grad_(False), nn.Linear(8, 10)
        self.calls = 0
    def forward(self, x):
        self.calls += 1
        if self.calls > 20:
            self.base.weight.data *= 1.5
        return self.head(self.base(x.flatten(1)))
`

// TestPretrainedModule: frozen tensors, buffers and start values are in a file whose hash is in model.config.
// A trainer without that file, with another, or that changes a frozen tensor, trains nothing and says why.
func TestPretrainedModule(t *testing.T) {
	stage.OnlyLong(t)
	python, my := stage.Python(t, "numpy, torch"), written(t, "my.py", pretrained)
	begins := map[string]string{"build": `1\.bias +\[10\] +zeros`, "normed": `norm\.weight +\[8\] +as build fills it
norm\.bias +\[8\] +zeros
out\.weight +\[10 5408\] +glorot`}
	study := func(build string, more ...string) (string, params.Params, string) {
		dir := filepath.Join(t.TempDir(), "study")
		args := []string{"new", dir, "--module", my + ":" + build, "--python", python}
		stdout, stderr, code := spdl(t, append(args, more...)...)
		require.Zero(t, code, stderr)
		require.Regexp(t, begins[build], stdout)
		p, err := preset.Load(filepath.Join(dir, "params.json"))
		require.NoError(t, err)
		return dir, p, stderr
	}
	check := func(dir string) (string, int) {
		stdout, stderr, code := spdl(t, "trainer", "check", filepath.Join(dir, "train.py"), "--python", python,
			"--parts", "4")
		return stdout + stderr, code
	}
	dir, p, said := study("build")
	require.Contains(t, said, "trained: 2 tensors, 90 parameters; frozen: 4 tensors, 6296 numbers")
	require.Contains(t, said, "each member needs the same file beside train.py")
	require.Equal(t, 90, p.Model.Dim())
	file := filepath.Join(dir, "weights.safetensors")
	content, err := os.ReadFile(file)
	require.NoError(t, err)
	hash := fmt.Sprintf("%x", sha256.Sum256(content))
	require.Contains(t, p.Model.Config, `"weights":{"file":"weights.safetensors","sha256":"`+hash+`"}`)
	readme, err := os.ReadFile(filepath.Join(dir, "README.md"))
	require.NoError(t, err)
	require.Contains(t, string(readme), "\n- weights.safetensors has the model's constants")
	text, code := check(dir)
	require.Zero(t, code, text)

	content[len(content)-1] ^= 1
	require.NoError(t, os.WriteFile(file, content, 0o600))
	text, code = check(dir)
	require.Equal(t, 1, code)
	require.Contains(t, text, "has SHA-256 "+fmt.Sprintf("%x", sha256.Sum256(content))+", and model.config names "+hash)
	require.NoError(t, os.Remove(file))
	text, code = check(dir)
	require.Equal(t, 1, code)
	require.Contains(t, text, "weights.safetensors cannot be read (No such file or directory): model.config names it "+
		"with SHA-256 "+hash+"; put it there")
	require.NotContains(t, text, "Traceback")

	study("normed")
	dir, _, _ = study("Restless")
	text, code = check(dir)
	require.Equal(t, 1, code)
	require.Contains(t, text, "training changes tensor base.weight, which is a constant of this chain")

	dir, p, said = study("build", "--adapt", "lora:rank=2")
	require.Contains(t, said, "low-rank products on 1 weights")
	require.Equal(t, 90+2*(784+8), p.Model.Dim())
	text, code = check(dir)
	require.Zero(t, code, text)
	_, stderr, code := spdl(t, "new", dir+"2", "--module", my+":build", "--python", python, "--adapt", "lora:rank=x")
	require.Equal(t, 1, code)
	require.Contains(t, stderr, `--adapt is "lora:rank=x", want bias or lora:rank=4`)
}

// TestNewHead: a head for features is a study whose rounds, clip and rate follow from the norm of its inputs, and
// whose public statistics are in the weights file, so a member's own features need none.
func TestNewHead(t *testing.T) {
	stage.OnlyLong(t)
	python, features := stage.Python(t, "numpy, torch"), filepath.Join(t.TempDir(), "f.npz")
	out, err := exec.Command(python, "-c", `import sys, numpy as np
r = np.random.default_rng(1); y = np.arange(4000) % 3
x = r.standard_normal((4000, 6)) + 2 * np.eye(6)[y]
np.savez(sys.argv[1], x=x, y=y, centre=np.full(6, 0.3), scale=np.ones(6))`, features).CombinedOutput()
	require.NoError(t, err, "%s", out)
	for head, dim := range map[string]int{"linear": 3 * 7, "mlp": 32*7 + 32 + 3*32 + 3} {
		dir := filepath.Join(t.TempDir(), "study")
		_, stderr, code := spdl(t, "new", dir, "--head", head, "--features", features, "--python", python)
		require.Zero(t, code, stderr)
		p, err := preset.Load(filepath.Join(dir, "params.json"))
		require.NoError(t, err)
		require.Equal(t, dim, p.Model.Dim())
		require.Contains(t, p.Model.Config, `"data":"data.npz"`)
		require.Equal(t, head == "linear", p.Training.Rounds <= 64 && p.Training.LearningRate > 5,
			"%+v", p.Training)
		stdout, stderr, code := spdl(t, "trainer", "check", filepath.Join(dir, "train.py"), "--python", python,
			"--parts", "4")
		require.Zero(t, code, stdout+stderr)
	}
	for says, args := range map[string][]string{
		"--head and --features are for each other":        {"--head", "linear"},
		`--head is "cnn", want one of linear, mlp`:        {"--head", "cnn", "--features", features},
		`is "lab.py", want a file of .npz`:                {"--head", "mlp", "--features", "lab.py"},
		"a study of features has no other model, data or": {"--head", "mlp", "--features", features, "--adapt", "bias"},
	} {
		_, stderr, code := spdl(t, append([]string{"new", filepath.Join(t.TempDir(), "s")}, args...)...)
		require.Equal(t, 2, code)
		require.Contains(t, stderr, says)
	}
}

// TestTrainersThatDoNotStart: a program that is not there is named, whatever the parameters; one that
// cannot import a module has broken no promise.
func TestTrainersThatDoNotStart(t *testing.T) {
	for _, program := range [][]string{{"nosuchprog"}, {"sh", "nosuchscript.py"}} {
		_, stderr, code := spdl(t, append([]string{"trainer", "check"}, program...)...)
		require.Equal(t, 1, code)
		require.Contains(t, stderr, "nosuch")
		require.NotContains(t, stderr, "params")
	}
	python, dir := stage.Python(t, "numpy"), filepath.Join(t.TempDir(), "study")
	_, stderr, code := spdl(t, "new", dir, "--python", python)
	require.Zero(t, code, stderr)
	script := filepath.Join(dir, "train.py")
	require.NoError(t, os.WriteFile(script, []byte("import no_such_module"), 0o600))
	stdout, stderr, code := spdl(t, "trainer", "check", script, "--python", python)
	require.Equal(t, 1, code)
	require.Contains(t, stdout, "it did not start: "+python+" has no module no_such_module")
	require.Contains(t, stderr, "the trainer did not start: "+python+" has no no_such_module: install it for this "+
		"interpreter, or name another with --python")
	require.NotContains(t, stderr, "promises")
}

// TestNewOfParquet: a study of a Parquet file is that of its CSV file, and a head of Parquet features that of the npz
// file of the same arrays: the same parameters of the chain, and from either file the same gradients.
func TestNewOfParquet(t *testing.T) {
	stage.OnlyLong(t)
	python, work := stage.Python(t, "numpy, torch"), t.TempDir()
	data, err := filepath.Abs("../../../app/model/table/testdata")
	require.NoError(t, err)
	file := func(name string) string { return filepath.Join(data, name) }
	npz := filepath.Join(work, "f.npz")
	out, err := exec.Command(python, "-c", `import csv, sys, numpy as np
rows = list(csv.DictReader(open(sys.argv[1])))
x = [[float(r["pregnant"]), float(r["age"]), float(r["pedigree"]), 1.5] for r in rows]
np.savez(sys.argv[2], x=np.array(x, "f4"),
         y=np.array([int(r["diabetes"] == "pos") for r in rows]), groups=["p%d" % (int(r["age"]) // 5) for r in rows])`,
		file("pima.csv"), npz).CombinedOutput()
	require.NoError(t, err, string(out))
	source, schema := filepath.Join(work, "own.py"), filepath.Join(work, "s.json")
	require.NoError(t, os.WriteFile(source, []byte("import torch\ndef build(hello, data):\n    torch.manual_seed(1)\n"+
		"    return torch.nn.Linear(data[0].shape[1], 2)\n"), 0o600))
	parquet := file("pima-duckdb-brotli.parquet")
	_, stderr, code := spdl(t, "schema", "draft", parquet, "--label", "diabetes", "--out", schema)
	require.Zero(t, code, stderr)

	for name, c := range map[string]struct{ plain, parquet, arguments []string }{
		"head": {[]string{"--features", npz}, []string{"--features", file("features-arrow.parquet")},
			[]string{"--head", "linear"}},
		"module": {[]string{"--data", file("pima.csv")}, []string{"--data", file("pima-arrow-gzip-dictionary.parquet")},
			[]string{"--module", source + ":build", "--schema", schema}},
	} {
		t.Run(name, func(t *testing.T) {
			sums := map[string][]float64{}
			var models []params.Params
			for kind, own := range map[string][]string{"plain": c.plain, "parquet": c.parquet} {
				dir := filepath.Join(t.TempDir(), kind)
				_, stderr, code := spdl(t, slices.Concat([]string{"new", dir, "--python", python}, c.arguments, own)...)
				require.Zero(t, code, stderr)
				p, err := preset.Load(filepath.Join(dir, "params.json"))
				require.NoError(t, err)
				models = append(models, p)
				for member, data := range map[string]string{"": "", " member": own[1]} { // "": the study's data
					s, err := trainer.Start(t.Context(), trainer.Config{Argv: []string{python, "train.py"}, Dir: dir,
						Share: trainer.Share{Data: data, Parts: 1}, Sandbox: sandbox.Settings{Off: true}}, p.Model, p.Privacy)
					require.NoError(t, err)
					sum, picked := make([]float64, p.Model.Dim()), make([]int, s.Len())
					for i := range picked {
						picked[i] = i
					}
					require.NoError(t, s.ClippedSum(t.Context(), sum, make([]float64, p.Model.Dim()), picked))
					s.Close()
					sums[kind+member] = sum
				}
			}
			for i := range models { // the names of the data alone differ
				models[i].Model.Config = strings.NewReplacer("data.npz", "", "data.csv", "").Replace(models[i].Model.Config)
			}
			require.Equal(t, models[0], models[1])
			require.NotZero(t, sums["plain"][0])
			for kind, sum := range sums {
				require.Equal(t, sums["plain"], sum, kind)
			}
		})
	}
}
