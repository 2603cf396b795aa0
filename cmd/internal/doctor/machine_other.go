//go:build !linux

package doctor

// machine asks the kernel.
var machine = System{Free: free, Descriptors: fileLimit, Synced: func() (bool, error) { return false, errUnknown },
	Landlock: func() (int, error) { return 0, errUnknown }, Seccomp: func() bool { return false }}
