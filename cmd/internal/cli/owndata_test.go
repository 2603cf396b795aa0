package cli

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/app/model/evaluate"
	"github.com/spdl/spdl/app/params"
	"github.com/spdl/spdl/cmd/internal/cli/command"
	"github.com/spdl/spdl/cmd/internal/cli/prove"
	"github.com/spdl/spdl/cmd/internal/gain"
	"github.com/spdl/spdl/cmd/internal/modelfile"
	"github.com/spdl/spdl/internal/stage"
	"github.com/spdl/spdl/mnist"
	"github.com/spdl/spdl/testnet"
)

// diagnoses are the classes of the patients.
var diagnoses = []string{"flu", "cold", "none"}

// patients writes a table of rows whose diagnosis follows from temperature and cough, and returns
// its file.
func patients(t *testing.T, rows int) string {
	t.Helper()
	random := rand.New(rand.NewPCG(7, 7))
	var text strings.Builder
	text.WriteString("age,temperature,diagnosis,cough\n")
	for range rows {
		class := random.IntN(3)
		temperature, cough := 36.6, 0
		if class == 0 {
			temperature = 39
		}
		if class == 1 {
			cough = 1
		}
		fmt.Fprintf(&text, "%d,%.1f,%s,%d\n", 20+random.IntN(70), temperature+0.3*random.NormFloat64(), diagnoses[class],
			cough)
	}
	path := filepath.Join(t.TempDir(), "patients.csv")
	require.NoError(t, os.WriteFile(path, []byte(text.String()), 0o600))
	return path
}

// squares writes images of 12x12 pixels in five classes, which say where a bright square is, and
// returns their folder.
func squares(t *testing.T) string {
	t.Helper()
	random, dir := rand.New(rand.NewPCG(8, 8)), t.TempDir()
	for name, n := range map[string]int{"train": 2000, "t10k": 400} {
		var pixels, labels []byte
		for range n {
			class := random.IntN(5)
			image := make([]byte, 144)
			for i := range image {
				if image[i] = byte(random.IntN(60)); i/24 == class {
					image[i] += 150
				}
			}
			pixels, labels = append(pixels, image...), append(labels, byte(class))
		}
		for file, content := range map[string][]byte{
			"-images-idx3-ubyte": append(idxHead(0x803, n, 12, 12), pixels...), "-labels-idx1-ubyte": append(idxHead(0x801, n),
				labels...),
		} {
			require.NoError(t, os.WriteFile(filepath.Join(dir, name+file), content, 0o600))
		}
	}
	return dir
}

func idxHead(magic uint32, sides ...int) []byte {
	head := binary.BigEndian.AppendUint32(nil, magic)
	for _, side := range sides {
		head = binary.BigEndian.AppendUint32(head, uint32(side))
	}
	return head
}

// TestOwnData: a built-in model of the shape of one's own data is trained by four nodes, exported,
// verified and measured, and gives the accuracy on its card again.
func TestOwnData(t *testing.T) {
	stage.OnlyLong(t) // runs nets
	table, folder, two := patients(t, 2000), squares(t), filepath.Join(t.TempDir(), "two.csv")
	text, err := os.ReadFile(table)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(two, bytes.ReplaceAll(text, []byte("cold"), []byte("flu")), 0o600))
	for name, c := range map[string]struct {
		data            []string
		inputs, classes uint32
	}{
		"table": {[]string{"--data", table, "--label", "diagnosis"}, 4, 3},
		"two":   {[]string{"--data", two, "--label", "diagnosis"}, 4, 2},
		"mlp":   {[]string{"--data", folder, "--preset", "mlp"}, 144, 5},
	} {
		t.Run(name, func(t *testing.T) {
			net, last := staying(t, append([]string{"--rounds", "30"}, c.data...)...)
			require.Greater(t, *last.TestAccuracy, 0.9)

			file := filepath.Join(t.TempDir(), "m.safetensors")
			_, stderr, code := spdl(t, "model", "export", "--node", net.Nodes[1].RPC, "--eval", "--data", c.data[1], "--out",
				file)
			require.Zero(t, code, stderr)
			f, _, err := prove.Read(file)
			require.NoError(t, err)
			require.Equal(t, []uint32{c.inputs, c.classes}, []uint32{f.Card.Model.Inputs, f.Card.Model.Classes})
			require.InDelta(t, *last.TestAccuracy, *f.Card.Accuracy, 0.05)
			header, err := f.Header()
			require.NoError(t, err)
			stdout, stderr, code := spdl(t, "verify", "model", file, "--offline", "--trust-hash",
				hex.EncodeToString(header.Hash()))
			require.Zero(t, code, stderr)
			require.Contains(t, stdout, "verified")
			var again struct{ Accuracy float64 }
			stdout, stderr, code = spdl(t, "model", "eval", file, "--data", c.data[1], "-o", "json")
			require.Zero(t, code, stderr)
			require.NoError(t, json.Unmarshal([]byte(stdout), &again))
			require.Equal(t, *f.Card.Accuracy, again.Accuracy)

			_, stderr, code = spdl(t, "model", "eval", file)
			require.Equal(t, 1, code)
			require.Contains(t, stderr, "data and model do not fit")
			adapts(t, f, file, c.data[1])
		})
	}
}

// staying runs a localnet, and returns what its first line and its summary say. The net ends with the test.
func staying(t *testing.T, args ...string) (net, last line) {
	t.Helper()
	cmd := process(t, append([]string{"testnet", "start", "--stay", "-o", "json"}, args...)...)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		require.NoError(t, cmd.Process.Signal(os.Interrupt))
		require.NoError(t, cmd.Wait())
	})
	lines := bufio.NewScanner(out)
	require.True(t, lines.Scan())
	require.NoError(t, json.Unmarshal(lines.Bytes(), &net))
	for last.Type != "summary" && lines.Scan() {
		require.NoError(t, json.Unmarshal(lines.Bytes(), &last))
	}
	require.NotNil(t, last.TestAccuracy)
	return net, last
}

// adapts adapts a model of two classes to the rows of one member. The file that comes out says that it is private,
// is measured as any model, and is verified by nobody.
func adapts(t *testing.T, f *modelfile.File, file, data string) {
	out := filepath.Join(t.TempDir(), "mine.npz")
	stdout, stderr, code := spdl(t, "model", "adapt", file, "--data", data, "--out", out, "--choose", "adapted", "-o",
		"json")
	if f.Card.Model.Kind != params.ModelLogistic {
		require.Equal(t, 1, code)
		require.Contains(t, stderr, ", want logistic, the linear model of a table of two classes")
		return
	}
	require.Zero(t, code, stderr)
	var g gain.Report
	require.NoError(t, json.Unmarshal([]byte(stdout), &g))
	ways := g.Models
	require.Equal(t, []string{"shared", "intercept", "adapted", "alone"}, []string{ways[0].Name, ways[1].Name,
		ways[2].Name, ways[3].Name})
	require.Less(t, ways[2].Loss, ways[0].Loss, "the fit knows the member's rows, without noise")
	mine, _, err := prove.Read(out)
	require.NoError(t, err)
	require.NoError(t, mine.Check())
	require.ErrorContains(t, mine.CheckProven(), "a member adapted the model to its own rows")
	require.Equal(t, modelfile.Private, mine.Card.Adapted.Privacy)
	stdout, stderr, code = spdl(t, "model", "eval", out, "--data", data, "-o", "json")
	require.Zero(t, code, stderr)
	var again struct{ Quality evaluate.Quality }
	require.NoError(t, json.Unmarshal([]byte(stdout), &again))
	for _, x := range [][2]float64{{ways[2].AUC.Value, again.Quality.AUC}, {ways[2].Brier.Value, again.Quality.Brier},
		{ways[2].ECE.Value, again.Quality.ECE}} {
		require.InDelta(t, x[1], x[0], 1e-6, "evaluation takes other orders of sums")
	}
	_, stderr, code = spdl(t, "verify", "model", out, "--offline", "--trust-hash", strings.Repeat("00", 32))
	require.Equal(t, 1, code)
	require.Contains(t, stderr, "a member adapted the model to its own rows")
	_, stderr, code = spdl(t, "model", "adapt", out, "--data", data)
	require.Equal(t, 1, code)
	require.Contains(t, stderr, "a member adapted the model to its own rows")
	mine.Card.Adapted.Privacy = "none"
	require.ErrorContains(t, mine.Check(), "the card was changed")
}

// TestOwnDataInGenesis: the consortium's genesis has the shape of the data that were named; what
// does not fit is wrong use before there is a file, or a home.
func TestOwnDataInGenesis(t *testing.T) {
	table := patients(t, 100)
	g, stderr := founds(t, "--data", table, "--label", "diagnosis", "--examples", "5000", "--rounds", "40", "--epsilon",
		"1")
	require.Contains(t, stderr, "the ends of 3 columns are the least and greatest of its rows")
	m := g.Params.Model
	require.Equal(t, []string{"cold", "flu", "none"}, m.Table.Classes)
	require.Equal(t, "temperature", m.Table.Columns[1].Name)
	require.Equal(t, []uint32{4, 3}, []uint32{m.Inputs, m.Classes}, "three columns and the constant")
	require.Equal(t, uint32(5000), g.Params.Privacy.Batch, "all rows each round")
	require.Equal(t, 1.0, g.Params.Privacy.Epsilon)

	file := filepath.Join(t.TempDir(), "model.json")
	tensors, err := json.Marshal(params.Model{Kind: params.ModelExternal, Clipping: params.ClippingRows,
		Tensors: []params.Tensor{{Name: "w", Shape: []uint32{3, 20}, Init: params.InitZeros}}})
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(file, tensors, 0o600))
	external, _ := founds(t, "--preset", "external", "--model", file, "--examples", "1000")
	require.Equal(t, params.ModelExternal, external.Params.Model.Kind)
	stdout, stderr, code := spdl(t, "plan", "--preset", "external", "--model", file, "--examples", "1000")
	require.Zero(t, code, stderr)
	require.Contains(t, stdout, "external, 60 parameters")
	stdout, stderr, code = spdl(t, "plan", "--data", table, "--label", "diagnosis", "--force")
	require.Zero(t, code, stderr)
	require.Contains(t, stdout, "4-3 without bias, 12 parameters")
	require.Contains(t, stdout, "20 examples a participant")

	bad := filepath.Join(t.TempDir(), "bad.csv")
	require.NoError(t, os.WriteFile(bad, []byte("age,diagnosis\n1,flu\nx,cold\n"), 0o600))
	net := filepath.Join(t.TempDir(), "net")
	for want, args := range map[string][]string{
		`bad.csv line 3, column "age": no finite number`: {"--data", bad, "--label", "diagnosis"},
		"name the column of its labels":                  {"--data", table},
		`has no column "ill"`:                            {"--data", table, "--label", "ill"},
		`preset "external" needs a model`:                {"--preset", "external"},
		`preset "mlp" has a model of its own`:            {"--preset", "mlp", "--model", file},
	} {
		for _, c := range [][]string{{"testnet", "init", "--home", net}, {"plan"},
			{"consortium", "new", net, "--chain-id", "ours", "--members", "a"}} {
			_, stderr, code := spdl(t, append(c, args...)...)
			require.Equal(t, command.WrongUse, code, stderr)
			require.Contains(t, stderr, want)
		}
		require.NoDirExists(t, net)
	}
	images, err := json.Marshal(g.Params)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(file, images, 0o600))
	_, stderr, code = spdl(t, "testnet", "init", "--home", net, "--params", file, "--data", squares(t))
	require.Equal(t, 1, code, stderr)
	require.Contains(t, stderr, "wants 3 columns of a table and 3 classes")
	require.Contains(t, stderr, "spdl consortium new --data")
	_, stderr, code = spdl(t, "testnet", "init", "--home", net, "--params", file, "--data", table, "--label", "diagnosis")
	require.Equal(t, command.WrongUse, code, stderr)
	require.NoDirExists(t, net)
}

// TestGroupsOfImagesInGenesis: a folder with a file of groups makes groups the unit of privacy, and a
// member whose images have no groups does not join.
func TestGroupsOfImagesInGenesis(t *testing.T) {
	folder, plain := squares(t), squares(t)
	text := "image,group\n"
	for i := range 2000 {
		text += fmt.Sprintf("%d,patient %d\n", i, i/4)
	}
	require.NoError(t, os.WriteFile(filepath.Join(folder, mnist.GroupsFile), []byte(text), 0o600))
	g, stderr := founds(t, "--data", folder, "--preset", "default")
	require.Equal(t, params.UnitGroup, g.Params.Privacy.Unit, stderr)
	n, _ := g.Params.Privacy.Fits(1)
	require.Equal(t, 500, n, "groups, and not 2,000 images")
	stdout, stderr, code := spdl(t, "plan", "--data", folder)
	require.Zero(t, code, stderr)
	require.Contains(t, stdout, "125 groups a participant")
	require.Contains(t, stdout, "protected  one group, of the 125 of each participant: neighbouring data sets")
	stdout, stderr, code = spdl(t, "plan", "--data", patients(t, 2000), "--label", "diagnosis", "--group", "age",
		"--epsilon", "4")
	require.Zero(t, code, stderr)
	require.Contains(t, stdout, "protected  one age with all its rows, of the ")
	_, stderr, code = spdl(t, "plan", "--data", folder, "--group", "patient")
	require.Equal(t, command.WrongUse, code)
	require.Contains(t, stderr, "the groups of images are in the folder's file train-groups.csv")

	proposal := filepath.Join(t.TempDir(), "ours")
	stdout, stderr, code = spdl(t, "consortium", "new", proposal, "--chain-id", "ours", "--members", "a", "--data", folder)
	require.Zero(t, code, stderr)
	require.Contains(t, stdout, "images of 5 classes, with a file of their groups")
	require.Contains(t, stdout, " for the unit group\n")
	_, stderr, code = spdl(t, "consortium", "join", proposal, "--name", "a", "--address", "a.example:1", "--data", plain,
		"--home", filepath.Join(t.TempDir(), "home"))
	require.NotZero(t, code)
	require.Contains(t, stderr, "have no groups: want the file train-groups.csv")
	file := filepath.Join(t.TempDir(), "params.json")
	content, err := json.Marshal(g.Params)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(file, content, 0o600))
	net := filepath.Join(t.TempDir(), "net")
	_, stderr, code = spdl(t, "testnet", "init", "--home", net, "--params", file, "--data", plain)
	require.Equal(t, command.Failure, code)
	require.Contains(t, stderr, "have no groups: want the file train-groups.csv")
	require.NoDirExists(t, net)
}

// TestTableTooSmall: plan, testnet init and consortium new reject a table with too few rows for its
// epsilon, with the number of rows and the epsilon that would do, unless --force is given.
func TestTableTooSmall(t *testing.T) {
	table := patients(t, 100) // 20 of the training rows each
	data := []string{"--data", table, "--label", "diagnosis"}
	net, ours := filepath.Join(t.TempDir(), "net"), filepath.Join(t.TempDir(), "ours")
	for _, c := range []struct {
		args []string
		code int
		dir  string // must not be there before --force
	}{
		{append([]string{"plan", "--epsilon", "1"}, data...), command.Failure, net},
		{append([]string{"testnet", "init", "--home", net, "--epsilon", "1"}, data...), command.WrongUse, net},
		{append([]string{"consortium", "new", ours, "--chain-id", "ours", "--members", "a,b,c,d", "--examples", "20",
			"--epsilon", "1"}, data...), command.WrongUse, ours},
	} {
		stdout, stderr, code := spdl(t, c.args...)
		require.Equal(t, c.code, code, stderr)
		have := "about 20" // from the rounded batch
		if c.args[0] == "plan" {
			have = "20"
		}
		require.Regexp(t, "too few rows for their epsilon: with "+have+" examples of each participant and epsilon 1 the "+
			"noise in the mean of a participant's gradients is [0-9.]+ times the clip norm, above 0.6, and attackers that "+
			"hide in it, f = 1, decide the result: [0-9]+ examples each are the least that train, or epsilon [0-9.]+ with "+
			"these; --force",
			stderr)
		require.Equal(t, c.args[0] == "plan", strings.Contains(stdout, "verdict: not worth it"), "a plan is shown")
		require.NoDirExists(t, c.dir)
		_, stderr, code = spdl(t, append(c.args, "--force")...)
		require.Zero(t, code, stderr)
	}
	manifest, err := testnet.LoadManifest(filepath.Join(net, "manifest.toml"))
	require.NoError(t, err)
	require.True(t, manifest.Force, "a net that was forced starts again")
}
