//go:build e2e

package e2e

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// shiftEnv says by how much the clock of a node is off, as a duration.
const shiftEnv = "SPDL_TEST_CHAOS_CLOCK"

// What is put into the standard library's time.Now: the wall clock is shifted, timers are not.
const (
	now       = "sec, nsec, mono := runtimeNow()\n"
	shiftNow  = now + "\tsec += chaosClock\n"
	readShift = `
var chaosClock = func() int64 {
	s, _ := syscall.Getenv("` + shiftEnv + `")
	d, _ := ParseDuration(s)
	return int64(d / Second)
}()
`
)

var (
	shiftableOnce sync.Once
	shiftableErr  error
)

// shiftable returns spdl with a clock that the environment shifts. No library reaches the clock of
// a Go program from outside, so it is built with another package time.
func shiftable(t *testing.T) string {
	t.Helper()
	path := binary + "-clock"
	shiftableOnce.Do(func() { shiftableErr = buildShiftable(path) })
	require.NoError(t, shiftableErr)
	return path
}

func buildShiftable(path string) error {
	root, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		return err
	}
	dir := filepath.Join(strings.TrimSpace(string(root)), "src", "time")
	source, err := os.ReadFile(filepath.Join(dir, "time.go"))
	if err != nil {
		return err
	}
	before, after, _ := strings.Cut(string(source), "func Now() Time {")
	changed := before + "func Now() Time {" + strings.Replace(after, now, shiftNow, 1)
	temp := filepath.Dir(path)
	files := map[string]string{filepath.Join(dir, "time.go"): changed,
		filepath.Join(dir, "chaos.go"): "package time\n\nimport \"syscall\"\n" + readShift}
	replace := map[string]string{}
	for name, text := range files {
		replace[name] = filepath.Join(temp, filepath.Base(name))
		if err := os.WriteFile(replace[name], []byte(text), 0o600); err != nil {
			return err
		}
	}
	overlay, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(temp, "overlay.json"), overlay, 0o600); err != nil {
		return err
	}
	cmd := exec.Command("go", "build", "-overlay", filepath.Join(temp, "overlay.json"), "-o", path, "../../cmd/spdl")
	cmd.Stderr = os.Stderr
	return cmd.Run()
}
