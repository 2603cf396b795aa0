package sandbox

import (
	"encoding/json"
	"os"
	"os/exec"
)

// policy tells a supervisor the trainer's command line and limits.
type policy struct {
	Argv      []string
	Dir       string
	Env       []string
	Read      []string
	Devices   []string
	Scratch   string // the scratch folder, which the supervisor makes
	MaxMemory int64
	MaxFiles  int64 // the max bytes in the scratch folder
	MaxTasks  int
}

// A program that starts itself again gets one of these names, each for one role.
const (
	supervisorName = "spdl-sandbox"
	confinedName   = "spdl-sandbox-exec"
)

// lifelineFD is the descriptor from which each role reads its policy. Only the worker holds the
// other end of the supervisor's lifeline, so that end closes when the worker ends, even if it is
// killed.
const lifelineFD = 3

// Command returns a command that runs a trainer's command line in the sandbox, and the two ends of
// its lifeline. The caller closes both ends: theirs as soon as the command has started, and
// lifeline to end the trainer. When lifeline closes, the trainer and all processes that it started
// are killed.
func Command(argv []string, dir, data string, s Settings) (cmd *exec.Cmd, lifeline, theirs *os.File, err error) {
	if err := s.Validate(); err != nil {
		return nil, nil, nil, err
	}
	if err := Supported(); err != nil {
		return nil, nil, nil, err
	}
	c := command{env: environment(s.Env)}
	if err := c.resolve(argv, dir); err != nil {
		return nil, nil, nil, err
	}
	s = s.withDefaults()
	read, err := c.readable(data, s)
	if err != nil {
		return nil, nil, nil, err
	}
	text, err := json.Marshal(policy{Argv: c.argv, Dir: c.dir, Env: c.env, Read: read, Devices: s.Devices,
		MaxMemory: s.Memory, MaxFiles: s.Scratch, MaxTasks: s.Processes})
	if err != nil {
		return nil, nil, nil, err
	}
	theirs, lifeline, err = os.Pipe()
	if err != nil {
		return nil, nil, nil, err
	}
	cmd = again(supervisorName)
	cmd.ExtraFiles = []*os.File{theirs}
	go func() { _, _ = lifeline.Write(append(text, '\n')) }() // if it fails, the supervisor has printed why
	return cmd, lifeline, theirs, nil
}

// again returns a command that starts this program again, in another role.
func again(role string) *exec.Cmd {
	return &exec.Cmd{Path: "/proc/self/exe", Args: []string{role}, SysProcAttr: ownSession(), Env: os.Environ()}
}
