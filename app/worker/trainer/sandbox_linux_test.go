package trainer

import (
	"bufio"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/spdl/spdl/app/params"
	"github.com/spdl/spdl/app/worker/trainer/sandbox"
	"github.com/spdl/spdl/internal/stage"
)

// The limits of the hostile trainer.
const (
	maxProcesses = 60
	maxMemory    = 256 << 20
	maxScratch   = 8 << 20
)

// init makes the test's own program the hostile trainer, so that no interpreter is needed.
func init() {
	if len(os.Args) < 3 {
		return
	}
	switch os.Args[1] {
	case "act":
		act(os.Args[2])
		os.Exit(0)
	case "escape":
		os.Exit(serveEscape(os.Args[2], os.Args[3]))
	}
}

// serveEscape tries an escape, writes the result to standard error, and answers HELLO like an
// honest trainer.
func serveEscape(name, target string) int {
	var p prey
	if err := json.Unmarshal([]byte(target), &p); err != nil {
		panic(err)
	}
	if err := escapeNamed(name).try(p); err != nil {
		fmt.Fprintf(os.Stderr, "failed: %v\n", err)
	} else {
		fmt.Fprintln(os.Stderr, "escaped")
	}
	for header := make([]byte, headerBytes); ; {
		if _, err := io.ReadFull(os.Stdin, header); err != nil || header[0] != frameHello {
			return 0
		}
		_, _ = io.CopyN(io.Discard, os.Stdin, int64(binary.LittleEndian.Uint32(header[1:])))
		_ = writeFrame(os.Stdout, frameHello, []byte(`{"protocol": 1, "examples": 1}`))
	}
}

// atLarge is the secret in the memory of the node, which here is the test.
var atLarge = []byte(secret)

// bait makes a home, sockets and open descriptors for a hostile trainer.
func bait(t *testing.T) (p prey, own string) {
	t.Helper()
	root := t.TempDir()
	p = prey{Home: filepath.Join(root, "home"), Node: os.Getpid(), Secret: uintptr(unsafe.Pointer(&atLarge[0])),
		Outside:  filepath.Join(root, "outside"), // two runs of this test may be at work
		Abstract: fmt.Sprintf("@spdl-%d-%s", os.Getpid(), filepath.Base(root))}
	own = filepath.Join(root, "own")
	p.Key, p.Journal = filepath.Join(p.Home, "key"), filepath.Join(p.Home, "journal")
	p.Other, p.Own, p.Setuid = filepath.Join(root, "other", "key"), filepath.Join(own, "new"), filepath.Join(own, "other")
	for _, folder := range []string{p.Home, filepath.Dir(p.Other), own} {
		require.NoError(t, os.Mkdir(folder, 0o755))
	}
	for _, file := range []string{p.Key, p.Journal, p.Other} {
		require.NoError(t, os.WriteFile(file, []byte(secret), 0o600))
	}
	_ = unix.Setxattr(p.Key, "user.spdl", []byte(secret), 0) // not every file system has attributes
	program, err := os.Executable()
	require.NoError(t, err)
	require.NoError(t, exec.Command("cp", program, filepath.Join(own, "hostile")).Run())
	require.NoError(t, exec.Command("cp", program, p.Setuid).Run())
	if os.Getuid() == 0 {
		require.NoError(t, os.Chown(p.Setuid, 65534, 65534))
		require.NoError(t, os.Chmod(p.Setuid, 0o755|os.ModeSetuid))
	}
	fd, err := syscall.Open(p.Key, syscall.O_RDONLY, 0) // not closed on exec
	require.NoError(t, err)
	t.Cleanup(func() { _ = syscall.Close(fd) })
	p.FD = fd
	p.TCP = listen(t, "tcp", "127.0.0.1:0")
	p.Unix = listen(t, "unix", filepath.Join(root, "s"))
	listen(t, "unix", p.Abstract)
	packets, err := net.ListenPacket("udp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = packets.Close() })
	p.UDP, p.Datagram = packets.LocalAddr().String(), filepath.Join(root, "d")
	datagrams, err := net.ListenPacket("unixgram", p.Datagram)
	require.NoError(t, err)
	t.Cleanup(func() { _ = datagrams.Close() })
	return p, own
}

func listen(t *testing.T, network, address string) string {
	t.Helper()
	l, err := net.Listen(network, address)
	require.NoError(t, err)
	t.Cleanup(func() { l.Close() })
	return l.Addr().String()
}

// outcome is the result of an escape.
type outcome struct {
	escaped bool
	log     string // what the operator sees
}

// run starts a hostile trainer and ends it.
func run(t *testing.T, e escape, contained bool) outcome {
	t.Helper()
	p, own := bait(t)
	if contained {
		p.Patience = 2 * time.Minute
	}
	told, err := json.Marshal(p)
	require.NoError(t, err)
	h := new(heard)
	trainer, err := Start(t.Context(), Config{
		Argv: []string{filepath.Join(own, "hostile"), "escape", e.name, string(told)}, Dir: own,
		Timeout: 3 * time.Minute, Log: h.say,
		Sandbox: sandbox.Settings{Off: !contained, Memory: maxMemory, Scratch: maxScratch, Processes: maxProcesses,
			Secret: []string{p.Home}},
	}, linear(params.ClippingRows), params.Privacy{Clip: 1})
	if err == nil {
		trainer.Close()
	} else {
		h.say("err=" + err.Error())
	}
	o := outcome{escaped: strings.Contains(h.String(), "trainer: escaped"), log: h.String()}
	var pid int
	if _, rest, daemon := strings.Cut(o.log, "trainer: daemon "); daemon { // the escape has succeeded if the daemon lives
		_, err := fmt.Sscan(rest, &pid)
		require.NoError(t, err, o.log)
		o.escaped = syscall.Kill(pid, 0) == nil
		if o.escaped {
			require.NoError(t, syscall.Kill(pid, syscall.SIGKILL))
		}
	}
	return o
}

// TestEscapes: each attempt of a hostile trainer succeeds without the sandbox, which shows that the
// attempt works, and fails in the sandbox.
func TestEscapes(t *testing.T) {
	stage.OnlyLong(t) // starts a trainer for each attempt, with and without the sandbox
	needsSandbox(t)
	signals := make(chan os.Signal, 100)
	signal.Notify(signals, unix.SIGUSR1) // or it would end this test
	defer signal.Stop(signals)
	t.Setenv("SPDL_SECRET", secret)
	tried, succeeded := 0, 0
	for _, e := range escapes {
		t.Run(e.name, func(t *testing.T) {
			free := run(t, e, false)
			if !free.escaped {
				t.Skipf("this machine forbids it to every program: %s", free.log)
			}
			o := run(t, e, true)
			tried++
			if o.escaped {
				succeeded++
			}
			require.False(t, o.escaped, o.log)
			require.NotEmpty(t, o.log)
			t.Logf("the operator's log: %s", strings.TrimSpace(o.log))
		})
	}
	t.Logf("%d of %d escapes succeed", succeeded, tried)
	if os.Getuid() == 0 {
		require.GreaterOrEqual(t, tried, 25)
	}
}

// TestStopIsNoFailure: a trainer that the worker ends by SIGTERM is not logged as killed. One that another process
// ends is.
func TestStopIsNoFailure(t *testing.T) {
	needsSandbox(t)
	for by, stop := range map[string]func(*child, *heard){
		"worker": func(k *child, _ *heard) { k.stop(false) },
		"other": func(k *child, h *heard) {
			var pid int
			_, err := fmt.Sscan(h.String()[strings.Index(h.String(), "up ")+3:], &pid)
			require.NoError(t, err)
			require.NoError(t, syscall.Kill(pid, syscall.SIGTERM))
			require.True(t, k.endsWithin(time.Minute))
			k.stop(false)
		},
	} {
		h := new(heard)
		k, err := launch(Config{Argv: []string{stage.Tool(t, "sh"), "-c", "echo up $$ >&2; exec sleep 1000"},
			Dir: t.TempDir(), Log: h.say, logged: new(allowance), Sandbox: sandbox.Settings{Memory: maxMemory,
				Scratch: maxScratch, Processes: maxProcesses}})
		require.NoError(t, err)
		require.Eventually(t, func() bool { return strings.Contains(h.String(), "up ") }, time.Minute, time.Millisecond)
		time.Sleep(100 * time.Millisecond) // the supervisor listens to signals
		stop(k, h)
		require.Equal(t, by == "other", strings.Contains(h.String(), "killed by the signal"), h.String())
	}
}

// TestNodeKilled: if SIGKILL ends a node, all processes that its trainer started end too.
func TestNodeKilled(t *testing.T) {
	needsSandbox(t)
	_, own := bait(t)
	program, err := os.Executable()
	require.NoError(t, err)
	node := exec.Command(program, "act", "node", filepath.Join(own, "hostile"))
	out, err := node.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, node.Start())
	defer func() { _ = node.Process.Kill() }()
	late := time.AfterFunc(2*time.Minute, func() { _ = node.Process.Kill() }) // ends the loop if a line never comes
	defer late.Stop()
	daemon, done := 0, false // the trainer's lines and the node's come in either order
	for lines := bufio.NewScanner(out); (daemon == 0 || !done) && lines.Scan(); {
		t.Log(lines.Text())
		if _, pid, found := strings.Cut(lines.Text(), "trainer: daemon "); found {
			_, err := fmt.Sscan(pid, &daemon)
			require.NoError(t, err)
		}
		done = done || strings.HasPrefix(lines.Text(), "node: ")
	}
	require.NotZero(t, daemon)
	require.True(t, late.Stop(), "the node ran until now")
	require.NoError(t, syscall.Kill(daemon, 0), "it runs while the node does")
	require.NoError(t, node.Process.Kill())
	require.Eventually(t, func() bool { return syscall.Kill(daemon, 0) == syscall.ESRCH }, 2*time.Minute,
		10*time.Millisecond, "the daemon %d outlives the node", daemon)
}

// BenchmarkStep asks a contained trainer and an uncontained trainer in turn, and reports how much
// longer a step of the contained trainer takes: the difference of the medians in percent.
func BenchmarkStep(b *testing.B) {
	var took [2][]float64
	var all [2]*Trainer
	picked := make([]int, 50)
	for i := range picked {
		picked[i] = i
	}
	for i := range all {
		p, err := Start(b.Context(), Config{Argv: []string{stage.Python(b, "json"), "testdata/study.py", "right"},
			Sandbox: sandbox.Settings{Off: i == 0, Read: []string{"python"}}}, linear(params.ClippingRows),
			params.Privacy{Clip: 1})
		require.NoError(b, err)
		defer p.Close()
		all[i] = p
	}
	for n := 0; b.Loop(); n++ {
		for k := range all {
			i := (n + k) % 2
			begun := time.Now()
			require.NoError(b, all[i].ClippedSum(b.Context(), make([]float64, 6), at, picked))
			took[i] = append(took[i], time.Since(begun).Seconds())
		}
	}
	for i := range took {
		slices.Sort(took[i])
	}
	free, contained := took[0][len(took[0])/2], took[1][len(took[1])/2]
	b.ReportMetric(1e6*free, "µs/free")
	b.ReportMetric(100*(contained/free-1), "%overhead")
}

func needsSandbox(t *testing.T) {
	t.Helper()
	if err := sandbox.Supported(); err != nil {
		t.Skip(err)
	}
}
