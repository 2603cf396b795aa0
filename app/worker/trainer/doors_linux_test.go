package trainer

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/app/params"
	"github.com/spdl/spdl/internal/stage"
)

// marked is a study in which every program, module and start file writes a marker when it runs
// outside of the sandbox, where the kernel shows no seccomp filter.
type marked struct {
	dir, marker, python string
}

// program returns a script that writes the marker, and goes on as the interpreter.
func (m marked) program() string {
	return fmt.Sprintf("#!/bin/sh\ngrep -q 'Seccomp:.0' /proc/self/status && echo $0 >> %s\nexec %s \"$@\"\n", m.marker,
		m.python)
}

// module returns lines of Python that write the marker.
func (m marked) module() string {
	return fmt.Sprintf("import os; 'Seccomp:\t0' in open('/proc/self/status').read() and "+
		"os.write(os.open(%q, os.O_CREAT | os.O_WRONLY), b'x')\n", m.marker)
}

func (m marked) write(t *testing.T, path, content string, mode os.FileMode) {
	t.Helper()
	to := filepath.Join(m.dir, path)
	require.NoError(t, os.MkdirAll(filepath.Dir(to), 0o755))
	require.NoError(t, os.WriteFile(to, []byte(content), mode))
	require.NoError(t, os.Chmod(to, mode))
}

// markedStudy writes testdata/study.py with its package, and a marker wherever an interpreter looks.
func markedStudy(t *testing.T, firstLine string) marked {
	t.Helper()
	if _, err := os.Stat("/usr/bin/python3"); err != nil {
		t.Skip("the system has no python3")
	}
	m := marked{dir: t.TempDir(), marker: filepath.Join(t.TempDir(), "marker"), python: "/usr/bin/python3"}
	script, err := os.ReadFile("testdata/study.py")
	require.NoError(t, err)
	_, body, _ := strings.Cut(string(script), "\n")
	m.write(t, "train.py", strings.ReplaceAll(firstLine, "DIR", m.dir)+"\n"+m.module()+body, 0o755)
	require.NoError(t, os.CopyFS(filepath.Join(m.dir, "spdl_trainer"), os.DirFS("python/spdl_trainer")))
	for _, name := range []string{"python3", "python", "python-study", "env"} {
		m.write(t, name, m.program(), 0o755)
	}
	for _, name := range []string{"sitecustomize.py", "usercustomize.py", "json.py", "importlib.py"} {
		m.write(t, name, m.module(), 0o644)
	}
	version, err := exec.Command(m.python, "-c", "import sys; print('python%d.%d' % sys.version_info[:2])").Output()
	require.NoError(t, err)
	m.write(t, "venv/pyvenv.cfg", "home = /usr/bin\ninclude-system-site-packages = true\n", 0o644)
	m.write(t, "venv/lib/"+strings.TrimSpace(string(version))+"/site-packages/zz.pth", m.module(), 0o644)
	require.NoError(t, os.MkdirAll(filepath.Join(m.dir, "venv/bin"), 0o755))
	require.NoError(t, os.Symlink(m.python, filepath.Join(m.dir, "venv/bin/python")))
	return m
}

// TestNothingRunsOutside: nothing of a study runs outside of the sandbox, whether its code is approved,
// rejected or neither. Without the sandbox each way writes the marker, which shows that it can.
func TestNothingRunsOutside(t *testing.T) {
	needsSandbox(t)
	outside := filepath.Join(t.TempDir(), "python3") // an operator's link into the study
	for name, w := range map[string]struct {
		firstLine string
		argv      []string
		path      string // precedes $PATH
	}{
		"relative interpreter":     {"#!./python3", []string{"./train.py", "right"}, ""},
		"absolute interpreter":     {"#!DIR/python3", []string{"./train.py", "right"}, ""},
		"interpreter by env":       {"#!/usr/bin/env ./python3", []string{"./train.py", "right"}, ""},
		"env of the study":         {"#!./env python3", []string{"./train.py", "right"}, ""},
		"interpreter with options": {"#!./python3 -B", []string{"./train.py", "right"}, ""},
		"virtual environment":      {"", []string{"./venv/bin/python", "train.py", "right"}, ""},
		"its absolute path":        {"", []string{"DIR/venv/bin/python", "DIR/train.py", "right"}, ""},
		"a script of it":           {"#!DIR/venv/bin/python", []string{"./train.py", "right"}, ""},
		"a program named python":   {"", []string{"./python-study", "train.py", "right"}, ""},
		"an interpreter's name":    {"", []string{"./python3", "train.py", "right"}, ""},
		"$PATH":                    {"", []string{"python3", "train.py", "right"}, "DIR"},
		"env by $PATH":             {"#!/usr/bin/env python3", []string{"./train.py", "right"}, "DIR"},
		"active environment":       {"", []string{"python", "train.py", "right"}, "DIR/venv/bin"},
		"a link from outside":      {"", []string{outside, "train.py", "right"}, ""},
		"start files":              {"", []string{"/usr/bin/python3", "train.py", "right"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			m := markedStudy(t, w.firstLine)
			require.NoError(t, os.RemoveAll(outside))
			require.NoError(t, os.Symlink(filepath.Join(m.dir, "python3"), outside))
			t.Setenv("PATH", strings.ReplaceAll(w.path, "DIR", m.dir)+":/usr/bin:/bin")
			c := Config{Dir: m.dir, Timeout: 20 * time.Second, Log: new(heard).say}
			for _, word := range w.argv {
				c.Argv = append(c.Argv, strings.ReplaceAll(word, "DIR", m.dir))
			}
			code, err := HashCode(m.dir)
			require.NoError(t, err)
			hashes := map[string]string{"any code": "", "approved": code.Hash, "rejected": strings.Repeat("0", 64)}
			for how, hash := range hashes {
				external := linear(params.ClippingRows)
				external.Trainer = hash
				p, err := Start(t.Context(), c, external, params.Privacy{Clip: 1})
				if err == nil {
					p.Close()
				}
				t.Log(how, err)
				require.NoFileExists(t, m.marker, how)
				if how == "rejected" {
					require.ErrorIs(t, err, ErrCode)
				}
			}
			c.Sandbox.Off = true
			if p, err := Start(t.Context(), c, linear(params.ClippingRows), params.Privacy{Clip: 1}); err == nil {
				p.Close()
			}
			require.FileExists(t, m.marker, "the study runs nothing, so that the test proves nothing")
		})
	}
}

// TestEnvironmentInTheStudy: the error for an approved study with an interpreter of its own names the remedy.
func TestEnvironmentInTheStudy(t *testing.T) {
	m := markedStudy(t, "")
	external := linear(params.ClippingRows)
	t.Setenv("PATH", m.dir+":/usr/bin:/bin")
	m.write(t, "named.py", "#!/usr/bin/env python3\n", 0o755)
	code, err := HashCode(m.dir)
	require.NoError(t, err)
	external.Trainer = code.Hash
	for _, argv := range [][]string{{"./venv/bin/python", "train.py"}, {"python3", "train.py"}, {"./named.py"}} {
		_, err = Start(t.Context(), Config{Argv: argv, Dir: m.dir, Log: new(heard).say}, external, params.Privacy{Clip: 1})
		require.ErrorIs(t, err, ErrCode, argv)
		require.ErrorContains(t, err, "make the virtual environment outside of "+m.dir, argv)
	}
}

// late is a trainer that loads code at each question: by a path from its working directory, or from
// its argument.
const late = `import os, sys
import spdl_trainer as spdl
class Study:
    examples = 1
    def gradients(self, parameters, indices):
        names = {}
        exec(open(os.path.join(sys.argv[1], "lib.py")).read(), names)
        return [[names["factor"]] * 6 for _ in indices]
spdl.serve(lambda hello: Study())
`

// lateStudy writes a study whose train.py loads lib.py from a folder at each question.
func lateStudy(t *testing.T, argv ...string) (Config, string, *heard) {
	t.Helper()
	dir := codeIn(t, map[string]string{"train.py": late, "lib.py": "factor = 0.25\n", "data/rows.csv": "1\n",
		".hidden/lib.py": "factor = 2\n"})
	require.NoError(t, os.CopyFS(filepath.Join(dir, "spdl_trainer"), os.DirFS("python/spdl_trainer")))
	h := new(heard)
	for i := range argv {
		argv[i] = strings.ReplaceAll(argv[i], "DIR", dir)
	}
	return Config{Argv: append([]string{stage.Python(t, "json")}, argv...), Dir: dir, Timeout: 20 * time.Second,
		Log: h.say}, dir, h
}

// TestCopyRuns: an approved trainer loads all of its code from the copy. A change of the folder
// reaches no trainer that runs, and the original cannot be opened.
func TestCopyRuns(t *testing.T) {
	needsSandbox(t)
	sum := func(t *testing.T, p *Trainer) (float64, error) {
		out := make([]float64, 6)
		err := p.ClippedSum(t.Context(), out, at, []int{0})
		return out[0], err
	}
	for name, argv := range map[string][]string{
		"from the working directory": {"train.py", "."},
		"as a module":                {"-m", "train", ".", "train.py"},
		"by its path":                {"DIR/train.py", "."},
		"original":                   {"train.py", "DIR"},
		"hidden":                     {"train.py", "DIR/.hidden"},
	} {
		t.Run(name, func(t *testing.T) {
			c, dir, h := lateStudy(t, argv...)
			code, err := HashCode(dir)
			require.NoError(t, err)
			m := linear(params.ClippingRows)
			m.Trainer = code.Hash
			p, err := Start(t.Context(), c, m, params.Privacy{Clip: 1})
			require.NoError(t, err, h)
			defer p.Close()
			first, err := sum(t, p)
			if strings.HasPrefix(argv[1], dir) {
				require.ErrorContains(t, err, "PermissionError")
				return
			}
			require.NoError(t, err, h)
			require.InDelta(t, 0.25, first, 1e-6)
			require.NoError(t, os.WriteFile(filepath.Join(dir, "lib.py"), []byte("factor = 0.125\n"), 0o644))
			second, err := sum(t, p)
			require.NoError(t, err, h)
			require.Equal(t, first, second)
		})
	}
}

// TestReadableOriginal: a path that the trainer may read must not hold the original of its code.
func TestReadableOriginal(t *testing.T) {
	for name, change := range map[string]func(*Config){
		"worker.data":               func(c *Config) { c.Share.Data = "." },
		"trainer_read":              func(c *Config) { c.Sandbox.Read = []string{".."} },
		"trainer_read, of one file": func(c *Config) { c.Sandbox.Read = []string{"lib.py"} },
		"trainer_read, by its path": func(c *Config) { c.Sandbox.Read = []string{c.Dir} },
	} {
		c, dir, _ := lateStudy(t, "train.py", ".")
		change(&c)
		code, err := HashCode(dir)
		require.NoError(t, err)
		c.Approved = []string{code.Hash}
		_, err = Start(t.Context(), c, linear(params.ClippingRows), params.Privacy{Clip: 1})
		require.ErrorIs(t, err, ErrCode, name)
		require.ErrorContains(t, err, "all of which the trainer may read", name)
	}
}

// reader prints what it could read of its arguments.
const reader = `import sys
for path in sys.argv[1:]:
    try:
        print("read", path, repr(open(path).read()), file=sys.stderr)
    except OSError as e:
        print("closed", path, type(e).__name__, file=sys.stderr)
`

// TestDataOfTheCopy: an approved trainer reads each data file of its folder, and no file to which a
// link leads out of it.
func TestDataOfTheCopy(t *testing.T) {
	needsSandbox(t)
	dir, other := codeIn(t, map[string]string{"train.py": reader, "data/rows.csv": "rows", "venv/pyvenv.cfg": "secret",
		".Rprofile": "secret"}),
		codeIn(t, map[string]string{"notes.txt": "secret"})
	require.NoError(t, os.Symlink("data/rows.csv", filepath.Join(dir, "link.csv")))
	require.NoError(t, os.Symlink(filepath.Join(other, "notes.txt"), filepath.Join(dir, "out.csv")))
	code, err := HashCode(dir)
	require.NoError(t, err)
	h := new(heard)
	_, err = Start(t.Context(), Config{Argv: []string{stage.Python(t, "json"), "train.py", "data/rows.csv", "link.csv",
		"out.csv", filepath.Join(dir, "data/rows.csv"), filepath.Join(dir, "venv/pyvenv.cfg"),
		filepath.Join(dir, ".Rprofile"), ".Rprofile"},
		Dir: dir, Log: h.say, Approved: []string{code.Hash}}, linear(params.ClippingRows), params.Privacy{Clip: 1})
	require.ErrorIs(t, err, ErrTrainer)
	require.Equal(t, 3, strings.Count(h.String(), `'rows'`), h)
	require.NotContains(t, h.String(), "secret")
	require.Equal(t, 3, strings.Count(h.String(), "PermissionError"), h)
	require.Equal(t, 1, strings.Count(h.String(), "FileNotFoundError"), h)
}

// TestSecrets: a trainer starts only if each secret is known to be closed to it.
func TestSecrets(t *testing.T) {
	needsSandbox(t)
	dir, home := codeIn(t, map[string]string{"train.py": reader}), t.TempDir()
	key := filepath.Join(home, "keys", "key.json")
	require.NoError(t, os.Mkdir(filepath.Dir(key), 0o700))
	require.NoError(t, os.WriteFile(key, []byte("secret"), 0o600))
	loop := filepath.Join(home, "loop")
	require.NoError(t, os.Symlink("loop", loop))
	dangling := filepath.Join(home, "dangling")
	require.NoError(t, os.Symlink(filepath.Join(dir, "later"), dangling))
	linked, twice := codeIn(t, map[string]string{"train.py": reader}), filepath.Join(home, "twice")
	require.NoError(t, os.WriteFile(twice, []byte("secret"), 0o600))
	require.NoError(t, os.Link(twice, filepath.Join(linked, "rows.csv")))
	for name, c := range map[string]struct {
		dir, secret, want string
		read              []string
	}{
		"closed":             {dir, key, "it ended by itself (exit status 0)", nil},
		"not yet made":       {dir, filepath.Join(home, "new", "key"), "it ended by itself (exit status 0)", nil},
		"relative":           {dir, "keys/key.json", "not absolute", nil},
		"loop":               {dir, loop, "too many links", nil},
		"below a file":       {dir, key + "/x", "is not known", nil},
		"link to nothing":    {dir, dangling, "is not known", nil},
		"not yet made here":  {dir, filepath.Join(dir, "new", "key"), "would read all of", nil},
		"in the folder":      {home, key, "would read all of", nil},
		"in /usr":            {dir, "/usr/local/key", "would read all of", nil},
		"hard link":          {linked, twice, "has 2 names", nil},
		"a part of a secret": {dir, home, "could open the secret " + filepath.Dir(key), []string{filepath.Dir(key)}},
	} {
		t.Run(name, func(t *testing.T) {
			if c.dir == home {
				require.NoError(t, os.WriteFile(filepath.Join(home, "train.py"), []byte(reader), 0o644))
			}
			config := Config{Argv: []string{stage.Python(t, "json"), "train.py", key}, Dir: c.dir, Log: new(heard).say}
			config.Sandbox.Secret, config.Sandbox.Read = []string{c.secret}, c.read
			_, err := Start(t.Context(), config, linear(params.ClippingRows), params.Privacy{Clip: 1})
			require.ErrorContains(t, err, c.want)
		})
	}
}
