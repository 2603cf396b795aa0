package trainer

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/spdl/spdl/app/worker/trainer/sandbox"
	"github.com/spdl/spdl/internal/stage"
)

// evasions holds attempts to take memory or disk in a form that a limit may not count. Each attempt
// takes at most a few times the limit.
var evasions = []escape{
	{"shared memory that nothing maps", func(p prey) error { return touchShared(-1, unix.MAP_ANONYMOUS, p) }},
	{"shared memory of /dev/zero", func(p prey) error {
		fd, err := unix.Open("/dev/zero", unix.O_RDWR, 0)
		if err != nil {
			return err
		}
		return touchShared(fd, 0, p)
	}},
	{"bytes in sockets", func(p prey) error { return helpers(p, "sockets", 8) }},
	{"memory of processes without a main thread", func(p prey) error { return helpers(p, "leaderless", 5) }},
	{"memory of processes that nobody may read", func(p prey) error { return helpers(p, "undumpable", 5) }},
	{"page tables", func(p prey) error { return helpers(p, "tables", 6) }},
	{"files without a name", func(p prey) error {
		return write(p, os.TempDir(), func(f *os.File) error { return os.Remove(f.Name()) })
	}},
	{"mapped files without a name", func(p prey) error {
		return write(p, os.TempDir(), func(f *os.File) error {
			_, err := unix.Mmap(int(f.Fd()), 0, 4096, unix.PROT_READ, unix.MAP_SHARED)
			return errors.Join(err, os.Remove(f.Name()), f.Close())
		})
	}},
	{"files behind a long path", func(p prey) error {
		top := filepath.Join(os.TempDir(), fmt.Sprint("long", os.Getpid()))
		defer remove(top)
		if err := errors.Join(os.Mkdir(top, 0o700), os.Chdir(top)); err != nil {
			return err
		}
		for range 30 {
			name := strings.Repeat("n", 200)
			if err := errors.Join(os.Mkdir(name, 0o700), os.Chdir(name)); err != nil {
				return err
			}
		}
		return write(p, ".", (*os.File).Close)
	}},
	{"files in a folder that nobody may list", func(p prey) error {
		folder := filepath.Join(os.TempDir(), fmt.Sprint("hidden", os.Getpid()))
		defer func() { _ = os.Chmod(folder, 0o700); remove(folder) }()
		if err := os.Mkdir(folder, 0o300); err != nil {
			return err
		}
		return write(p, folder, (*os.File).Close)
	}},
	{"blocks behind the end of a file", func(p prey) error {
		f, err := os.CreateTemp("", "blocks")
		if err != nil {
			return err
		}
		defer remove(f.Name())
		if err = unix.Fallocate(int(f.Fd()), unix.FALLOC_FL_KEEP_SIZE, 0, 4*maxScratch); err == nil {
			time.Sleep(p.Patience)
		}
		return err
	}},
	{"pages in pipes", func(prey) error {
		r, w, err := os.Pipe()
		if err != nil {
			return err
		}
		defer func() { _, _ = r.Close(), w.Close() }()
		page := make([]byte, 1)
		part := unix.Iovec{Base: &page[0]}
		part.SetLen(1)
		_, err = unix.Vmsplice(int(w.Fd()), []unix.Iovec{part}, 0)
		return err
	}},
	{"a file on its way through a socket", func(prey) error {
		return onPair(func(fd int) error { return unix.Sendmsg(fd, []byte("x"), unix.UnixRights(0), nil, 0) })
	}},
	{"larger sockets", func(prey) error {
		return onPair(func(fd int) error { return unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_SNDBUF, 1<<20) })
	}},
	{"larger pipes", func(prey) error {
		r, w, err := os.Pipe()
		if err != nil {
			return err
		}
		defer func() { _, _ = r.Close(), w.Close() }()
		_, err = unix.FcntlInt(w.Fd(), unix.F_SETPIPE_SZ, 1<<20)
		return err
	}},
	{"the host's sockets", func(prey) error { return reads("/proc/self/net/unix") }},
	{"the host's sockets by a thread", func(prey) error { return reads("/proc/thread-self/net/unix") }},
	{"the host's mounts", func(prey) error { return reads("/proc/self/mountinfo") }},
	{"the address of a network card", func(prey) error {
		return onPair(func(fd int) error {
			card, err := unix.NewIfreq("lo")
			if err == nil {
				err = call(unix.SYS_IOCTL, uintptr(fd), unix.SIOCGIFHWADDR, uintptr(unsafe.Pointer(card)))
			}
			return err
		})
	}},
	{"attributes of a key", func(p prey) error {
		return found(unix.Getxattr(p.Key, "user.spdl", make([]byte, 99)))
	}},
	{"a lease on its own program", func(prey) error {
		f, err := os.Open(os.Args[0])
		if err != nil {
			return err
		}
		defer f.Close()
		_, err = unix.FcntlInt(f.Fd(), unix.F_SETLEASE, unix.F_RDLCK)
		return err
	}},
	{"notices of a folder", func(prey) error {
		f, err := os.Open(filepath.Dir(os.Args[0]))
		if err != nil {
			return err
		}
		defer f.Close()
		const access = 1 // DN_ACCESS
		_, err = unix.FcntlInt(f.Fd(), unix.F_NOTIFY, access)
		return err
	}},
}

// touchShared writes to twice the memory that a trainer may take, and unmaps what it has written.
func touchShared(fd, flags int, p prey) error {
	memory, err := unix.Mmap(fd, 0, 2*maxMemory, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED|flags)
	if err != nil {
		return err
	}
	const part = 32 << 20
	for ; len(memory) > 0; memory = memory[part:] {
		fill(memory[:part])
		err = errors.Join(err, unix.Madvise(memory[:part], unix.MADV_DONTNEED))
	}
	time.Sleep(p.Patience)
	return err
}

func fill(memory []byte) {
	for i := 0; i < len(memory); i += 4096 {
		memory[i] = 1
	}
}

// write writes four files of half the scratch folder's limit, and calls then for each of them.
func write(p prey, folder string, then func(*os.File) error) error {
	for i := range 4 {
		f, err := os.Create(filepath.Join(folder, fmt.Sprint("file", os.Getpid(), i)))
		if err != nil {
			return err
		}
		defer remove(f.Name())
		_, err = f.Write(make([]byte, maxScratch/2))
		if err = errors.Join(err, then(f)); err != nil {
			return err
		}
		defer runtime.KeepAlive(f)
	}
	time.Sleep(p.Patience)
	return nil
}

// onPair calls a function with one end of a connected pair of sockets.
func onPair(do func(fd int) error) error {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	if err != nil {
		return err
	}
	defer func() { _, _ = unix.Close(fds[0]), unix.Close(fds[1]) }()
	return do(fds[0])
}

// helpers starts n processes, waits until each of them holds its part, and then for p.Patience.
func helpers(p prey, what string, n int) error {
	for range n {
		cmd := exec.Command("/proc/self/exe", "act", what)
		out, err := cmd.StdoutPipe()
		if err == nil {
			err = cmd.Start()
		}
		if err != nil {
			return err
		}
		defer func() { _ = cmd.Process.Kill() }()
		if _, err := fmt.Fscanf(out, "held\n"); err != nil {
			return fmt.Errorf("a helper holds nothing: %w", err)
		}
	}
	time.Sleep(p.Patience)
	return nil
}

// hold does the work of a helper, which takes some 64 MB in a certain form.
func hold(what string) {
	const size = 64 << 20
	mapped := func(length, prot int) []byte {
		memory, err := unix.Mmap(-1, 0, length, prot, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS|unix.MAP_NORESERVE)
		if err != nil {
			panic(err)
		}
		return memory
	}
	switch what {
	case "undumpable":
		if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
			panic(err)
		}
		fallthrough
	case "memory":
		fill(mapped(size, unix.PROT_READ|unix.PROT_WRITE))
	case "leaderless":
		go func() {
			time.Sleep(50 * time.Millisecond)
			fill(mapped(size, unix.PROT_READ|unix.PROT_WRITE))
			fmt.Println("held")
		}()
		runtime.LockOSThread() // init runs in the main thread
		_, _, _ = syscall.Syscall(unix.SYS_EXIT, 0, 0, 0)
	case "tables":
		const perTable = 2 << 20 // bytes that a table of 4096 bytes maps
		memory, sum := mapped(size/4096*perTable, unix.PROT_READ), byte(0)
		if err := unix.Madvise(memory, unix.MADV_NOHUGEPAGE); err != nil {
			panic(err)
		}
		for i := 0; i < len(memory); i += perTable {
			sum += memory[i]
		}
		runtime.KeepAlive(sum)
	case "sockets":
		holdSockets(size * 5 / 8)
	}
	fmt.Println("held")
	time.Sleep(10 * time.Minute)
}

// holdSockets writes size bytes to pairs of sockets.
func holdSockets(size int) {
	packet := make([]byte, 1<<16)
	for held := 0; held < size; {
		fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_NONBLOCK, 0)
		if err != nil {
			panic(err)
		}
		for _, fd := range fds {
			_ = unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_SNDBUF, 1<<20)
			for n := 0; err == nil && held < size; held += max(n, 0) {
				n, err = unix.Write(fd, packet)
			}
			err = nil // the buffer is full
		}
	}
}

// TestEscapesOfAnotherUser tries the escapes and tests the scratch folder as a user without
// privileges, who cannot list or remove every folder.
func TestEscapesOfAnotherUser(t *testing.T) {
	stage.OnlyLong(t)
	needsSandbox(t)
	if os.Getuid() != 0 {
		t.Skip("TestEscapes runs as such a user")
	}
	folder, err := os.MkdirTemp("", "spdl-nobody-") // the parent of t.TempDir is closed to others
	require.NoError(t, err)
	defer remove(folder)
	program, err := os.Executable()
	require.NoError(t, err)
	copied := filepath.Join(folder, "test")
	require.NoError(t, exec.Command("cp", program, copied).Run())
	require.NoError(t, os.Chmod(folder, 0o755))
	require.NoError(t, os.Mkdir(filepath.Join(folder, "tmp"), 0o700))
	require.NoError(t, os.Chown(filepath.Join(folder, "tmp"), 65534, 65534))
	cmd := exec.CommandContext(t.Context(), copied, "-test.v", "-test.run", "TestEscapes$|TestScratchIsRemoved")
	cmd.Dir, cmd.Env = folder, append(os.Environ(), "TMPDIR="+filepath.Join(folder, "tmp"), "HOME="+folder,
		stage.Variable+"=1") // TestEscapes has its turn with other commits
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.Contains(t, string(out), "--- PASS: TestEscapes/files_in_a_folder_that_nobody_may_list")
	require.Contains(t, string(out), "--- PASS: TestScratchIsRemoved")
	t.Logf("%s", out)
}

// TestLibrariesInTheSandbox: what NumPy, PyTorch and the standard library of Python need works in the sandbox.
func TestLibrariesInTheSandbox(t *testing.T) {
	needsSandbox(t)
	python := stage.Python(t, "numpy")
	if exec.Command("/usr/bin/python3", "-c", "import numpy, torch").Run() == nil {
		python = "/usr/bin/python3"
	}
	h := new(heard)
	k, err := launch(Config{Argv: []string{python, "testdata/libraries.py"}, Log: h.say, logged: new(allowance),
		Sandbox: sandbox.Settings{Processes: 200}})
	require.NoError(t, err)
	require.True(t, k.endsWithin(5*time.Minute))
	k.stop(false)
	require.Contains(t, h.String(), "all works")
	t.Log(h.String())
}

// leaving makes folders that their owner may enter and not list, or may do nothing with.
const leaving = `cd "$TMPDIR" && mkdir -m 300 left left/below && mkdir -m 0 left/below/none && : >left/below/file &&
	echo the folders were made >&2`

// TestScratchIsRemoved: whatever modes a trainer gives the folders that it makes, nothing of them
// stays when the trainer has ended.
func TestScratchIsRemoved(t *testing.T) {
	needsSandbox(t)
	folder := t.TempDir()
	t.Setenv("TMPDIR", folder)
	h := new(heard)
	k, err := launch(Config{Argv: []string{stage.Tool(t, "sh"), "-c", leaving}, Dir: t.TempDir(), Log: h.say,
		logged: new(allowance), Sandbox: sandbox.Settings{Memory: maxMemory, Scratch: maxScratch, Processes: maxProcesses}})
	require.NoError(t, err)
	require.True(t, k.endsWithin(time.Minute))
	k.stop(false)
	require.Contains(t, h.String(), "the folders were made")
	left, err := os.ReadDir(folder)
	require.NoError(t, err)
	require.NotContains(t, fmt.Sprint(left), "spdl-trainer-")
}
