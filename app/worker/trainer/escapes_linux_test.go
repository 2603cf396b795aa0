package trainer

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/spdl/spdl/app/params"
)

// prey holds the targets of a hostile trainer. The test tells the trainer where they are.
type prey struct {
	Home, Key, Journal, Other string
	Own, Outside, Setuid      string
	Node                      int     // the process of the node
	Secret                    uintptr // the address of a secret in it
	FD                        int     // a descriptor that the node left open
	TCP, UDP, Unix, Abstract  string
	Datagram                  string
	Patience                  time.Duration // how long it waits to be stopped, before it has escaped
}

const secret = "the key of the participant"

// escape is an attempt of a hostile trainer. The function returns nil if the attempt succeeds.
type escape struct {
	name string
	try  func(prey) error
}

// escapes holds the attempts of a hostile trainer.
var escapes = slices.Concat(files, processes, network, kernel, resources, evasions)

var files = []escape{
	{"read the participant's key", func(p prey) error { return reads(p.Key) }},
	{"read the journal", func(p prey) error { return reads(p.Journal) }},
	{"read another home", func(p prey) error { return reads(p.Other) }},
	{"list the home", func(p prey) error { _, err := os.ReadDir(p.Home); return err }},
	{"follow a symbolic link out", func(p prey) error {
		link := filepath.Join(os.TempDir(), fmt.Sprint("link", os.Getpid()))
		defer remove(link)
		return errors.Join(os.Symlink(p.Key, link), reads(link))
	}},
	{"link a key into the scratch folder", func(p prey) error {
		link := filepath.Join(os.TempDir(), fmt.Sprint("hard", os.Getpid()))
		defer remove(link)
		return os.Link(p.Key, link)
	}},
	{"move a key into the scratch folder", func(p prey) error {
		moved := filepath.Join(os.TempDir(), fmt.Sprint("moved", os.Getpid()))
		defer remove(moved)
		return os.Rename(p.Key, moved)
	}},
	{"leave the working directory", func(p prey) error {
		return errors.Join(os.Chdir(p.Home), reads(filepath.Base(p.Key)))
	}},
	{"read through /proc/self/root", func(p prey) error { return reads("/proc/self/root" + p.Key) }},
	{"write outside of the scratch folder", func(p prey) error { return os.WriteFile(p.Outside, nil, 0o600) }},
	{"write into its own folder", func(p prey) error { return os.WriteFile(p.Own, nil, 0o600) }},
	{"remove the journal", func(p prey) error { return os.Remove(p.Journal) }},
	{"truncate the journal", func(p prey) error { return unix.Truncate(p.Journal, 0) }},
	{"open the journal to write", func(p prey) error {
		f, err := os.OpenFile(p.Journal, os.O_WRONLY|os.O_TRUNC, 0)
		return errors.Join(err, f.Close())
	}},
	{"change the mode of a key", func(p prey) error { return os.Chmod(p.Key, 0o666) }},
	{"change the owner of a key", func(p prey) error { return os.Chown(p.Key, os.Getuid(), os.Getgid()) }},
	{"change the times of a key", func(p prey) error { return os.Chtimes(p.Key, time.Unix(1, 0), time.Unix(1, 0)) }},
	{"write to /dev/shm", func(prey) error {
		path := fmt.Sprint("/dev/shm/spdl-escape-", os.Getpid())
		defer remove(path)
		return os.WriteFile(path, nil, 0o600)
	}},
	{"watch the home", func(p prey) error {
		fd, err := unix.InotifyInit1(0)
		if err == nil {
			_, err = unix.InotifyAddWatch(fd, p.Home, unix.IN_ALL_EVENTS)
		}
		return err
	}},
	{"open a key by its handle", func(p prey) error {
		handle, _, err := unix.NameToHandleAt(unix.AT_FDCWD, p.Key, 0)
		if err != nil {
			return err
		}
		root, err := unix.Open("/", unix.O_RDONLY, 0)
		if err == nil {
			_, err = unix.OpenByHandleAt(root, handle, unix.O_RDONLY)
		}
		return err
	}},
	{"make a device of the disk", func(prey) error {
		path := filepath.Join(os.TempDir(), fmt.Sprint("disk", os.Getpid()))
		defer remove(path)
		return unix.Mknod(path, unix.S_IFBLK|0o600, int(unix.Mkdev(7, 0)))
	}},
	{"run a program that it wrote", func(prey) error {
		program := filepath.Join(os.TempDir(), fmt.Sprint("program", os.Getpid()))
		defer remove(program)
		if err := os.WriteFile(program, []byte("#!/bin/sh\n"), 0o700); err != nil {
			return err
		}
		return exec.Command(program).Run()
	}},
}

var processes = []escape{
	{"read the node's environment", func(p prey) error { return reads(fmt.Sprintf("/proc/%d/environ", p.Node)) }},
	{"read the node's command line", func(p prey) error { return reads(fmt.Sprintf("/proc/%d/cmdline", p.Node)) }},
	{"read the node's memory", func(p prey) error {
		f, err := os.Open(fmt.Sprintf("/proc/%d/mem", p.Node))
		if err != nil {
			return err
		}
		return found(f.ReadAt(make([]byte, len(secret)), int64(p.Secret)))
	}},
	{"list the node's descriptors", func(p prey) error {
		_, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", p.Node))
		return err
	}},
	{"copy the node's memory", func(p prey) error {
		local := unix.Iovec{Base: new(byte)}
		local.SetLen(1)
		return found(unix.ProcessVMReadv(p.Node, []unix.Iovec{local}, []unix.RemoteIovec{{Base: p.Secret, Len: 1}}, 0))
	}},
	{"trace the node", func(p prey) error { return call(unix.SYS_PTRACE, unix.PTRACE_SEIZE, uintptr(p.Node), 0, 0) }},
	{"take a descriptor of the node", func(p prey) error {
		fd, err := unix.PidfdOpen(p.Node, 0)
		if err == nil {
			_, err = unix.PidfdGetfd(fd, p.FD, 0)
		}
		return err
	}},
	{"signal the node", func(p prey) error { return unix.Kill(p.Node, unix.SIGUSR1) }},
	{"change the node's limits", func(p prey) error {
		var now unix.Rlimit
		return errors.Join(unix.Prlimit(p.Node, unix.RLIMIT_CORE, nil, &now),
			unix.Prlimit(p.Node, unix.RLIMIT_CORE, &now, nil))
	}},
	{"change the node's priority", func(p prey) error { return unix.Setpriority(unix.PRIO_PROCESS, p.Node, 0) }},
	{"move the node to a core", func(p prey) error {
		var now unix.CPUSet
		return errors.Join(unix.SchedGetaffinity(p.Node, &now), unix.SchedSetaffinity(p.Node, &now))
	}},
	{"read a descriptor that the node left open", func(p prey) error {
		return found(unix.Pread(p.FD, make([]byte, len(secret)), 0))
	}},
	{"read a secret of the environment", func(prey) error {
		if os.Getenv("SPDL_SECRET") == "" {
			return errors.New("there is no such variable")
		}
		return nil
	}},
	{"become another user by a program", func(p prey) error {
		out, err := exec.Command(p.Setuid, "act", "user").Output()
		if err == nil && string(out) == fmt.Sprint(os.Geteuid()) {
			err = errors.New("the user is the same")
		}
		return err
	}},
	{"raise its limits", func(prey) error {
		return unix.Setrlimit(unix.RLIMIT_CORE, &unix.Rlimit{Cur: 1 << 40, Max: 1 << 40})
	}},
}

var network = []escape{
	{"TCP", func(p prey) error { return sends("tcp", p.TCP) }},
	{"UDP", func(p prey) error { return sends("udp", p.UDP) }},
	{"DNS", func(p prey) error {
		c, err := net.Dial("udp", p.UDP)
		if err == nil {
			_, err = c.Write([]byte("\x00\x01\x01\x00\x00\x01\x00\x00\x00\x00\x00\x00\x03key\x07example\x00\x00\x01\x00\x01"))
		}
		return err
	}},
	{"Unix", func(p prey) error { return sends("unix", p.Unix) }},
	{"abstract Unix", func(p prey) error { return sends("unix", p.Abstract) }},
	{"Unix datagrams from a pair", func(p prey) error {
		fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_DGRAM, 0)
		if err == nil {
			err = unix.Sendto(fds[0], []byte(secret), 0, &unix.SockaddrUnix{Name: p.Datagram})
		}
		return err
	}},
	{"listen", func(prey) error { _, err := net.Listen("tcp", "127.0.0.1:0"); return err }},
	{"netlink", func(prey) error { return socket(unix.AF_NETLINK, unix.NETLINK_ROUTE) }},
	{"raw", func(prey) error { return socket(unix.AF_INET, unix.IPPROTO_ICMP) }},
	{"packets", func(prey) error { return socket(unix.AF_PACKET, 0) }},
}

var kernel = []escape{
	{"io_uring", func(prey) error {
		var parameters [120]byte
		return call(unix.SYS_IO_URING_SETUP, 1, uintptr(unsafe.Pointer(&parameters)))
	}},
	{"userfaultfd", func(prey) error { return call(unix.SYS_USERFAULTFD, 1) }},
	{"bpf", func(prey) error {
		array := [18]uint32{2, 4, 4, 1} // type, bytes of a key, bytes of a value, entries
		return call(unix.SYS_BPF, unix.BPF_MAP_CREATE, uintptr(unsafe.Pointer(&array)), unsafe.Sizeof(array))
	}},
	{"keyctl", func(prey) error { _, err := unix.KeyctlGetKeyringID(unix.KEY_SPEC_USER_KEYRING, true); return err }},
	{"perf_event_open", func(prey) error {
		attr := unix.PerfEventAttr{Type: unix.PERF_TYPE_SOFTWARE, Size: uint32(unsafe.Sizeof(unix.PerfEventAttr{}))}
		_, err := unix.PerfEventOpen(&attr, 0, -1, -1, 0)
		return err
	}},
	{"namespaces", func(prey) error {
		return (&exec.Cmd{Path: "/proc/self/exe", Args: []string{os.Args[0], "act", "user"},
			SysProcAttr: &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWUSER}}).Run()
	}},
	{"mount", func(prey) error {
		folder, err := os.MkdirTemp("", "mount")
		defer remove(folder)
		if err == nil {
			err = unix.Mount("none", folder, "tmpfs", 0, "size=4096")
		}
		if err == nil {
			err = unix.Unmount(folder, 0)
		}
		return err
	}},
	{"chroot", func(prey) error { return unix.Chroot("/") }},
	{"memory that no limit counts", func(prey) error { _, err := unix.MemfdCreate("x", 0); return err }},
	{"System V shared memory", func(prey) error {
		id, err := unix.SysvShmGet(unix.IPC_PRIVATE, 4096, unix.IPC_CREAT|0o600)
		if err == nil {
			_, err = unix.SysvShmCtl(id, unix.IPC_RMID, nil)
		}
		return err
	}},
	{"System V messages", func(prey) error {
		id, _, e := unix.Syscall(unix.SYS_MSGGET, unix.IPC_PRIVATE, 0o600, 0)
		if e != 0 {
			return e
		}
		return call(unix.SYS_MSGCTL, id, unix.IPC_RMID, 0)
	}},
}

var resources = []escape{
	{"fork bomb", func(p prey) error {
		for range 3 * maxProcesses {
			cmd := exec.Command("/proc/self/exe", "act", "sleep")
			if err := cmd.Start(); err != nil {
				return err
			}
			defer func() { _ = cmd.Process.Kill() }()
		}
		time.Sleep(p.Patience)
		return nil
	}},
	{"memory bomb", func(prey) error {
		return touch(unix.MAP_PRIVATE)
	}},
	{"shared memory bomb", func(p prey) error {
		err := touch(unix.MAP_SHARED)
		if err == nil {
			time.Sleep(p.Patience)
		}
		return err
	}},
	{"huge file", func(prey) error {
		signal.Ignore(unix.SIGXFSZ)
		path := filepath.Join(os.TempDir(), fmt.Sprint("huge", os.Getpid()))
		defer remove(path)
		return os.WriteFile(path, make([]byte, 2*maxScratch), 0o600)
	}},
	{"many files", func(p prey) error {
		folder, err := os.MkdirTemp("", "many")
		defer remove(folder)
		for i := range 4 {
			err = errors.Join(err, os.WriteFile(filepath.Join(folder, fmt.Sprint(i)), make([]byte, maxScratch/2), 0o600))
		}
		time.Sleep(p.Patience)
		return err
	}},
	{"leave a daemon behind", func(prey) error {
		cmd := exec.Command("/proc/self/exe", "act", "fork")
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
		pid, err := cmd.Output()
		fmt.Fprintf(os.Stderr, "daemon %s\n", pid)
		return err
	}},
}

// act does the work of a helper process of a hostile trainer.
func act(what string) {
	switch what {
	case "sleep":
		time.Sleep(10 * time.Minute)
	case "node":
		node(os.Args[3])
	case "user":
		fmt.Print(os.Geteuid())
	case "memory", "leaderless", "undumpable", "tables", "sockets":
		hold(what)
	case "fork": // a daemon, whose parent ends
		cmd := exec.Command("/proc/self/exe", "act", "sleep")
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
		if err := cmd.Start(); err == nil {
			fmt.Print(cmd.Process.Pid)
		}
	}
}

// node is a node with a trainer that leaves a daemon behind. It prints what the trainer says, and
// runs until it is killed.
func node(trainer string) {
	_, err := Start(context.Background(), Config{Argv: []string{trainer, "escape", "leave a daemon behind", "{}"},
		Log: func(line string, _ ...any) { fmt.Println(line) }}, linear(params.ClippingRows), params.Privacy{Clip: 1})
	fmt.Println("node:", err)
	time.Sleep(10 * time.Minute)
}

// remove removes what an escape has made, if it has.
func remove(path string) { _ = os.RemoveAll(path) }

func reads(path string) error {
	text, err := os.ReadFile(path)
	if err == nil && len(text) == 0 {
		err = errors.New("it is empty")
	}
	return err
}

func found(n int, err error) error {
	if err == nil && n == 0 {
		err = errors.New("nothing is there")
	}
	return err
}

func sends(network, address string) error {
	c, err := net.Dial(network, address)
	if err == nil {
		_, err = c.Write([]byte(secret))
	}
	return err
}

// socket opens a raw socket.
func socket(family, protocol int) error {
	_, err := unix.Socket(family, unix.SOCK_RAW, protocol)
	return err
}

func call(number uintptr, arguments ...uintptr) error {
	var all [6]uintptr
	copy(all[:], arguments)
	if _, _, e := unix.Syscall6(number, all[0], all[1], all[2], all[3], all[4], all[5]); e != 0 {
		return e
	}
	return nil
}

// touch writes to twice the memory that a contained trainer may take.
func touch(kind int) error {
	memory, err := unix.Mmap(-1, 0, 2*maxMemory, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANONYMOUS|kind)
	if err != nil {
		return err
	}
	for i := 0; i < len(memory); i += 4096 {
		memory[i] = 1
	}
	return nil
}

// escapeNamed returns an escape by its name.
func escapeNamed(name string) escape {
	return escapes[slices.IndexFunc(escapes, func(e escape) bool { return strings.EqualFold(e.name, name) })]
}
