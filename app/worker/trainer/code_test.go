package trainer

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/app/params"
)

// codeIn writes files into a new folder, by path; those whose path begins with x are executable.
func codeIn(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for path, content := range files {
		to := filepath.Join(dir, path)
		require.NoError(t, os.MkdirAll(filepath.Dir(to), 0o755))
		require.NoError(t, os.WriteFile(to, []byte(content), 0o644))
		if strings.HasPrefix(path, "x") {
			require.NoError(t, os.Chmod(to, 0o755))
		}
	}
	return dir
}

// TestHashCode holds the hash to app/worker/trainer/PROTOCOL.md, byte for byte.
func TestHashCode(t *testing.T) {
	dir := codeIn(t, map[string]string{
		"train.py": "print()\n", "lib/helper.PY": "", "xrun": "#!/bin/sh\n", "lib/a.so.1": "elf",
		"data.csv": "1,2\n", "params.json": "{}", "__pycache__/train.py": "x", "lib/old.pyc": "x", ".git/hook.py": "x",
		"venv/pyvenv.cfg": "", "venv/bin/activate.py": "x",
	})
	code, err := HashCode(dir)
	require.NoError(t, err)
	want := sha256.Sum256([]byte("spdl trainer code 1\n- 3 lib/a.so.1\nelf- 0 lib/helper.PY\n- 8 train.py\nprint()\n" +
		"x 10 xrun\n#!/bin/sh\n"))
	require.Equal(t, hex.EncodeToString(want[:]), code.Hash)
	require.Equal(t, []CodeFile{{"lib/a.so.1", 3, false}, {"lib/helper.PY", 0, false}, {"train.py", 8, false},
		{"xrun", 10, true}}, code.Files)
	for name, change := range map[string]func() error{
		"content": func() error { return os.WriteFile(filepath.Join(dir, "train.py"), []byte("print(1)"), 0o644) },
		"mode":    func() error { return os.Chmod(filepath.Join(dir, "train.py"), 0o755) },
		"name":    func() error { return os.Rename(filepath.Join(dir, "train.py"), filepath.Join(dir, "t.py")) },
		"another": func() error { return os.WriteFile(filepath.Join(dir, "new.sh"), nil, 0o644) },
	} {
		before, err := HashCode(dir)
		require.NoError(t, err)
		require.NoError(t, change(), name)
		after, err := HashCode(dir)
		require.NoError(t, err)
		require.NotEqual(t, before.Hash, after.Hash, name)
	}
}

// TestCodeThatIsNone: HashCode rejects symbolic links to folders and to code, file names with
// characters that do not print, and folders without code.
func TestCodeThatIsNone(t *testing.T) {
	other := codeIn(t, map[string]string{"other.py": ""})
	for name, c := range map[string]struct{ from, to, want string }{
		"folder": {other, "lib", "symbolic link"},
		"code":   {filepath.Join(other, "other.py"), "helper.py", "symbolic link"},
		"hidden": {filepath.Join(other, "other.py"), "helper", ""},
	} {
		dir := codeIn(t, map[string]string{"train.py": ""})
		require.NoError(t, os.Symlink(c.from, filepath.Join(dir, c.to)))
		_, err := HashCode(dir)
		if c.want == "" {
			require.NoError(t, err, name)
			continue
		}
		require.ErrorIs(t, err, ErrCode, name)
		require.ErrorContains(t, err, c.want, name)
	}
	_, err := HashCode(codeIn(t, map[string]string{"data.csv": "1"}))
	require.ErrorIs(t, err, ErrCode)
	_, err = HashCode(codeIn(t, map[string]string{"a\nb.py": "1"}))
	require.ErrorContains(t, err, "no printable text")
}

// approvable copies testdata/study.py with its package into a folder, with a file of data.
func approvable(t *testing.T) (Config, *heard) {
	t.Helper()
	c, h := study(t, "right")
	dir := t.TempDir()
	require.NoError(t, os.CopyFS(filepath.Join(dir, "spdl_trainer"), os.DirFS("python/spdl_trainer")))
	script, err := os.ReadFile("testdata/study.py")
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "study.py"), script, 0o644))
	c.Argv[1], c.Dir, c.Sandbox.Read = "study.py", dir, nil
	return c, h
}

// TestApprovedCode: code runs if the model, or the home, approves its hash; the error for other
// code has both hashes and the remedy. A change of the code after a start takes effect at the next
// start.
func TestApprovedCode(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	killed := filepath.Join(os.TempDir(), "spdl-code-1") // the copy of a worker that was killed
	require.NoError(t, os.MkdirAll(filepath.Join(killed, "lib"), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(killed, "study.py"), nil, 0o400))
	c, h := approvable(t)
	code, err := HashCode(c.Dir)
	require.NoError(t, err)
	m := linear(params.ClippingRows)
	m.Trainer = strings.ToUpper(code.Hash)
	p, err := Start(t.Context(), c, m, params.Privacy{Clip: 1})
	require.NoError(t, err, h)
	t.Cleanup(p.Close)
	require.NoError(t, p.ClippedSum(t.Context(), make([]float64, 6), at, []int{1}))

	script := filepath.Join(c.Dir, "study.py")
	f, err := os.OpenFile(script, os.O_APPEND|os.O_WRONLY, 0)
	require.NoError(t, err)
	_, err = f.WriteString("# another\n")
	require.NoError(t, err)
	require.NoError(t, f.Close())
	require.NoError(t, p.ClippedSum(t.Context(), make([]float64, 6), at, []int{2}), "it runs its copy")
	p.child.stop(false)
	require.Error(t, p.ClippedSum(t.Context(), make([]float64, 6), at, []int{1}))
	time.Sleep(5 * time.Millisecond)
	changed, err := HashCode(c.Dir)
	require.NoError(t, err)
	err = p.ClippedSum(t.Context(), make([]float64, 6), at, []int{1})
	require.ErrorIs(t, err, ErrCode)
	for _, want := range []string{code.Hash, changed.Hash, "worker.trainers"} {
		require.ErrorContains(t, err, want)
	}
	c.Approved = []string{changed.Hash}
	own, err := Start(t.Context(), c, m, params.Privacy{Clip: 1})
	require.NoError(t, err, "the home approves it")
	own.Close()
	p.Close()
	left, err := os.ReadDir(os.TempDir())
	require.NoError(t, err)
	require.Empty(t, left, "copies are removed, also that of a worker that was killed")
}
