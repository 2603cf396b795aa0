package sandbox

import (
	"encoding/binary"
	"testing"

	"github.com/elastic/go-seccomp-bpf/arch"
	"github.com/stretchr/testify/require"
	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

// TestFilter runs the filter on calls whose arguments decide.
func TestFilter(t *testing.T) {
	here, err := arch.GetInfo("")
	require.NoError(t, err)
	vm, err := bpf.NewVM(instructions(here))
	require.NoError(t, err)
	const anonymous, private, shared = unix.MAP_ANONYMOUS, unix.MAP_PRIVATE, unix.MAP_SHARED
	const thread = unix.CLONE_VM | unix.CLONE_FS | unix.CLONE_SIGHAND | unix.CLONE_THREAD
	for _, c := range []struct {
		name      string
		arguments []uint32
		want      uint32
	}{
		{"read", nil, retAllow},
		{"socket", nil, retDeny},
		{"clone3", nil, retAbsent},
		{"statmount", nil, retAbsent},
		{"listmount", nil, retAbsent},
		{"landlock_create_ruleset", nil, retAbsent},
		{"seccomp", nil, retDeny},
		{"mmap", []uint32{0, 0, 0, private}, retAllow},
		{"mmap", []uint32{0, 0, 0, private | anonymous | unix.MAP_NORESERVE | unix.MAP_STACK}, retAllow},
		{"mmap", []uint32{0, 0, 0, shared | unix.MAP_POPULATE}, retAllow},
		{"mmap", []uint32{0, 0, 0, shared | anonymous}, retDeny},
		{"mmap", []uint32{0, 0, 0, shared | anonymous | unix.MAP_HUGETLB}, retDeny},
		{"mmap", []uint32{0, 0, 0, unix.MAP_SHARED_VALIDATE | anonymous}, retDeny},
		{"clone", []uint32{uint32(unix.SIGCHLD)}, retAllow},
		{"clone", []uint32{unix.CLONE_VM | unix.CLONE_VFORK}, retAllow},
		{"clone", []uint32{thread | unix.CLONE_FILES}, retAllow},
		{"clone", []uint32{thread}, retDeny},
		{"clone", []uint32{thread | unix.CLONE_FILES | unix.CLONE_NEWNET}, retDeny},
		{"fcntl", []uint32{9, unix.F_SETFL}, retAllow},
		{"fcntl", []uint32{9, unix.F_SETLEASE}, retDeny},
		{"fcntl", []uint32{9, unix.F_NOTIFY}, retDeny},
		{"fcntl", []uint32{9, unix.F_SETPIPE_SZ}, retDeny},
		{"fcntl", []uint32{9, unix.F_SETOWN}, retDeny},
		{"fcntl", []uint32{9, unix.F_SETOWN_EX}, retDeny},
		{"prctl", []uint32{unix.PR_SET_NAME}, retAllow},
		{"prctl", []uint32{unix.PR_SET_SECCOMP}, retDeny},
		{"prctl", []uint32{unix.PR_SET_DUMPABLE}, retDeny},
		{"ioctl", []uint32{9, unix.TIOCGWINSZ}, retAllow},
		{"ioctl", []uint32{9, unix.SIOCGIFHWADDR}, retDeny},
		{"ioctl", []uint32{9, 0x80000000 | unix.SIOCGIFNAME}, retDeny},
		{"socketpair", []uint32{unix.AF_UNIX, unix.SOCK_STREAM | unix.SOCK_CLOEXEC}, retAllow},
		{"socketpair", []uint32{unix.AF_UNIX, unix.SOCK_DGRAM}, retDeny},
	} {
		number, known := here.SyscallNames[c.name]
		require.True(t, known, c.name)
		data := make([]byte, atArguments+6*8) // the virtual machine reads big-endian words
		binary.BigEndian.PutUint32(data[atNumber:], uint32(number))
		binary.BigEndian.PutUint32(data[atArch:], uint32(here.ID))
		for i, a := range c.arguments {
			binary.BigEndian.PutUint32(data[atArguments+8*i:], a)
		}
		got, err := vm.Run(data)
		require.NoError(t, err)
		require.EqualValues(t, c.want, uint32(got), "%s%#x", c.name, c.arguments)
	}
}
