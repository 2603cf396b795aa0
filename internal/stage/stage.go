// Package stage tells a test how much work it should do. There are three stages, and a test that
// would take seconds does less in the first two:
//
//	make check      go test -short           during work: under a minute
//	make test       go test                  before a push: minutes, without tests that ask for the next by OnlyLong
//	make test-long  SPDL_TEST_LONG=1 go test      CI, in turns: all cases of all tests
//
// The long stage has an environment variable and not a flag or build tag, because every package
// accepts it, nothing is compiled twice, and the test cache considers it: after make test, make
// test-long runs only the tests that ask for the stage.
package stage

import (
	"fmt"
	"hash/crc32"
	"io/fs"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// Variable is the environment variable that asks for the long stage.
const Variable = "SPDL_TEST_LONG"

// Long reports whether the long stage runs, with all cases.
func Long() bool { return os.Getenv(Variable) != "" }

// Pick returns the argument for the running stage.
func Pick[T any](check, test, long T) T {
	switch {
	case Long():
		return long
	case testing.Short():
		return check
	}
	return test
}

// Turn is the environment variable of CI's gate, 0 to 4: a fifth of the tests of OnlyLong run. The commit's hash
// chooses which.
const Turn = "SPDL_TEST_TURN"

// OnlyLong skips a test of more than some seconds, but in the long stage and when its turn has come: never for good.
func OnlyLong(t testing.TB) {
	t.Helper()
	if turn := strconv.Itoa(int(crc32.ChecksumIEEE([]byte(t.Name())) % 5)); !Long() && os.Getenv(Turn) != turn {
		t.Skip("runs in make test-long, and with " + Turn + "=" + turn)
	}
}

// NotShort skips a test in the check stage. The reason says what takes long.
func NotShort(t testing.TB, reason string) {
	t.Helper()
	if testing.Short() && !Long() {
		t.Skip(reason + ": runs in make test")
	}
}

// Tool returns the path of a program from outside the project, or skips the test if it is not installed: make test
// needs nothing but Go. .ci/run installs the programs that tests need, if the machine allows it.
func Tool(t testing.TB, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		t.Skip(name + " is not installed")
	}
	return path
}

// interpreters has the paths of Python by the modules that they have.
var interpreters sync.Map

// Python returns the path of an interpreter that has the modules, such as "numpy, torch", or skips
// the test. It is the interpreter itself, and not a version manager's script, which starts a shell each time.
func Python(t testing.TB, modules string) string {
	t.Helper()
	if path, ok := interpreters.Load(modules); ok {
		return path.(string)
	}
	for _, name := range []string{"python3", "/usr/bin/python3"} {
		out, err := exec.Command(name, "-c", "import "+modules+", sys; print(sys.executable)").Output()
		if path := strings.TrimSpace(string(out)); err == nil && path != "" {
			interpreters.Store(modules, path)
			return path
		}
	}
	t.Skip("no python3 has the modules " + modules + ": on Debian, apt-get install python3-numpy python3-torch")
	return ""
}

// Address returns a loopback address, such as "127.0.0.1:12000", on which nobody listens. Its port is
// below the ports that Linux gives to outgoing connections, one of which could take it before the test.
func Address(t testing.TB) string {
	t.Helper()
	for range 1000 {
		if l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", 12000+rand.IntN(20000))); err == nil {
			defer l.Close()
			return l.Addr().String()
		}
	}
	t.Fatal("no free port")
	return ""
}

// CometBFT returns the source of folders of the CometBFT module that the build links, for tests of
// the texts that this program compares with.
func CometBFT(t testing.TB, folders ...string) string {
	t.Helper()
	dir, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/cometbft/cometbft").Output()
	if err != nil {
		t.Fatal(err)
	}
	var source strings.Builder
	for _, folder := range folders {
		err := filepath.WalkDir(filepath.Join(strings.TrimSpace(string(dir)), folder),
			func(path string, d fs.DirEntry, err error) error {
				if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
					return err
				}
				text, err := os.ReadFile(path)
				source.Write(text)
				return err
			})
		if err != nil {
			t.Fatal(err)
		}
	}
	return source.String()
}
