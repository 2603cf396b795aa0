package sandbox

import (
	"encoding/json"
	"os"
	"os/exec"
)

// policy holds a trainer's command line and limits. The worker sends it to the supervisor, and the
// supervisor to the confined process.
type policy struct {
	Argv      []string
	Dir       string
	Env       []string
	Read      []string
	Secret    []string // files and folders that the trainer must not be able to open
	Devices   []string
	Scratch   string // the scratch folder, which the supervisor makes
	MaxMemory int64
	MaxFiles  int64 // the max number of bytes in the scratch folder
	MaxTasks  int
}

// These are the process names of the two roles in which a program starts itself again.
const (
	supervisorName = "spdl-sandbox"
	confinedName   = "spdl-sandbox-exec"
)

// lifelineFD is the file descriptor of a role's lifeline: the pipe from which the role reads its
// policy. Only the worker holds the other end of the supervisor's lifeline. When the worker ends, even
// by SIGKILL, that other end closes.
const lifelineFD = 3

// Command returns a command that runs a trainer's command line in the sandbox, and the two ends of
// the command's lifeline. The caller closes childEnd as soon as the command has started, and closes
// lifeline to end the trainer: the trainer and all processes that it started are then killed.
// Command fails with ErrSettings or ErrUnsupported, or if the program cannot be found.
func Command(argv []string, dir, data string, s Settings) (cmd *exec.Cmd, lifeline, childEnd *os.File, err error) {
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
	read, secrets, err := c.readablePaths(data, s)
	if err != nil {
		return nil, nil, nil, err
	}
	text, err := json.Marshal(policy{Argv: c.argv, Dir: c.dir, Env: c.env, Read: read, Secret: secrets,
		Devices: s.Devices, MaxMemory: s.Memory, MaxFiles: s.Scratch, MaxTasks: s.Processes})
	if err != nil {
		return nil, nil, nil, err
	}
	childEnd, lifeline, err = os.Pipe()
	if err != nil {
		return nil, nil, nil, err
	}
	cmd = reexec(supervisorName)
	cmd.ExtraFiles = []*os.File{childEnd}
	go func() { _, _ = lifeline.Write(append(text, '\n')) }() // if the write fails, the supervisor has printed the reason
	return cmd, lifeline, childEnd, nil
}

// reexec returns a command that starts this program again, in another role.
func reexec(role string) *exec.Cmd {
	return &exec.Cmd{Path: "/proc/self/exe", Args: []string{role}, SysProcAttr: ownSession(), Env: os.Environ()}
}
