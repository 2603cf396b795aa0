package cli

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/app/preset"
	"github.com/spdl/spdl/app/worker/trainer"
	"github.com/spdl/spdl/internal/stage"
	"github.com/spdl/spdl/mnist"
)

// smaller copies a file of docs/pretrained into a new folder, with other sizes.
func smaller(t *testing.T, name string, sizes ...string) string {
	t.Helper()
	content, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", "pretrained", name))
	require.NoError(t, err)
	for i := 0; i < len(sizes); i += 2 {
		require.Contains(t, string(content), sizes[i])
	}
	return written(t, name, strings.NewReplacer(sizes...).Replace(string(content)))
}

// runs runs a Python file to its end.
func runs(t *testing.T, python string, args ...string) {
	t.Helper()
	pkg, err := filepath.Abs(filepath.Join("..", "..", "..", "app", "worker", "trainer", "python"))
	require.NoError(t, err)
	require.FileExists(t, filepath.Join(pkg, trainer.PackageName, "__init__.py"))
	cmd := exec.CommandContext(t.Context(), python, args...)
	cmd.Env = append(os.Environ(), "PYTHONPATH="+pkg, "OMP_NUM_THREADS=1", "PYTHONDONTWRITEBYTECODE=1")
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
}

// TestPretrainedImages is docs/pretrained/images.py at a small size: a head on features of a network that was trained
// on MNIST's digits, for made images of stripes, learns them in a few rounds.
func TestPretrainedImages(t *testing.T) {
	stage.OnlyLong(t)
	python, digits, features := stage.Python(t, "numpy, torch"), t.TempDir(), filepath.Join(t.TempDir(), "f.npz")
	require.NoError(t, mnist.Write(digits))
	file := smaller(t, "images.py", "EPOCHS, PUBLIC, ROWS = 2, 60000, 12000", "EPOCHS, PUBLIC, ROWS = 1, 2000, 2000")
	runs(t, python, file, filepath.Join(digits, "data"), squares(t), features)
	dir := filepath.Join(t.TempDir(), "study")
	_, stderr, code := spdl(t, "new", dir, "--head", "linear", "--features", features, "--python", python)
	require.Zero(t, code, stderr)
	_, last := staying(t, "--manifest", filepath.Join(dir, "net.toml"))
	require.Greater(t, *last.TestAccuracy, 0.8, "chance is 0.2")
}

// TestPretrainedText is docs/pretrained/text.py at a small size: low-rank products on a small transformer. The
// chain holds the products and the head alone, and the merged export is the same bytes each time.
func TestPretrainedText(t *testing.T) {
	stage.OnlyLong(t)
	python := stage.Python(t, "numpy, torch")
	file := smaller(t, "text.py", "LAYERS, WIDTH, HEADS = 4, 336, 8", "LAYERS, WIDTH, HEADS = 1, 32, 4",
		"STEPS, ROWS = 200, 4000", "STEPS, ROWS = 20, 600")
	runs(t, python, file)
	dir := filepath.Join(t.TempDir(), "study")
	_, stderr, code := spdl(t, "new", dir, "--module", file+":build", "--adapt", "lora:rank=2", "--python", python,
		"--rounds", "3")
	require.Zero(t, code, stderr)
	require.Contains(t, stderr, "low-rank products on 4 weights")
	p, err := preset.Load(filepath.Join(dir, "params.json"))
	require.NoError(t, err)
	require.Equal(t, 4*33+2*(128+64+2*160), p.Model.Dim(), "the head, and two factors for each of four weights")
	model := filepath.Join(dir, "model.safetensors")
	net, _ := staying(t, "--manifest", filepath.Join(dir, "net.toml"))
	_, stderr, code = spdl(t, "model", "export", "--node", net.Nodes[1].RPC, "--out", model)
	require.Zero(t, code, stderr)
	require.Contains(t, stderr, "merge the file with it before you load it")
	var merged [2][]byte
	for i, out := range []string{filepath.Join(dir, "1.safetensors"), filepath.Join(dir, "2.safetensors")} {
		runs(t, python, "-m", trainer.PackageName, "merge", model, filepath.Join(dir, "weights.safetensors"), "--out", out)
		merged[i], err = os.ReadFile(out)
		require.NoError(t, err)
	}
	require.Equal(t, merged[0], merged[1])
	require.NotContains(t, string(merged[0]), "lora")
}
