package sandbox

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/landlock-lsm/go-landlock/landlock"
	landlocksys "github.com/landlock-lsm/go-landlock/landlock/syscall"
	"golang.org/x/sys/unix"
)

// supervisor runs one trainer, and ends all its processes when the trainer or the worker ends.
type supervisor struct {
	policy        policy
	removeScratch func() error  // nil before there is a scratch folder
	main          int           // the process id of the trainer
	trainerExit   chan int      // receives the exit code of the trainer
	noDescendants chan struct{} // closed when no descendant is left
	group         *os.File      // the trainer's control group, nil without one
	hasScopes     bool          // whether the kernel confines the supervisor's signals to its descendants
	isEnding      atomic.Bool   // whether the supervisor is ending its descendants, by itself or for the worker
}

// scope confines signals. A rule set of Landlock forbids to move files between folders, in the trainer's
// scratch folder too, unless a rule allows that.
var scope = landlock.MustConfig(landlock.ScopedSet(landlocksys.ScopeAbstractUnixSocket|landlocksys.ScopeSignal),
	landlock.AccessFSSet(landlocksys.AccessFSRefer))

// supervise runs a trainer until the trainer or the worker ends, then kills all descendants, and returns the exit code.
func supervise() int {
	runtime.LockOSThread() // Pdeathsig kills the trainer when its parent thread, this thread, ends
	lifeline := os.NewFile(lifelineFD, "lifeline")
	read := bufio.NewReader(lifeline)
	s := &supervisor{trainerExit: make(chan int, 1), noDescendants: make(chan struct{})}
	line, err := read.ReadBytes('\n')
	if err == nil {
		err = json.Unmarshal(line, &s.policy)
	}
	if err == nil {
		err = s.start()
	}
	defer s.remove()
	if err != nil {
		fmt.Fprintln(os.Stderr, "sandbox:", err)
		return exitFailed
	}
	orphaned := make(chan struct{})
	go func() {
		_, _ = io.Copy(io.Discard, read) // returns when the worker ends
		close(orphaned)
	}()
	go s.reap()
	code := s.attend(orphaned)
	s.killAll()
	return code
}

// remove removes the scratch folder and the control group, after the end of all descendants.
func (s *supervisor) remove() {
	if removeGroup(s.group) {
		fmt.Fprintln(os.Stderr, "sandbox: the trainer is ended: it takes more memory than worker.trainer_memory,",
			s.policy.MaxMemory)
	}
	if s.removeScratch == nil {
		return
	}
	if err := s.removeScratch(); err != nil {
		fmt.Fprintf(os.Stderr, "sandbox: a part of the scratch folder stays: %.300q\n", err)
	}
}

// start makes the scratch folder and starts the confined process, which executes the trainer.
func (s *supervisor) start() (err error) {
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("PR_SET_CHILD_SUBREAPER: %w", err)
	}
	if s.policy.Scratch, s.removeScratch, err = Temporary("spdl-trainer-"); err != nil {
		return err
	}
	if s.policy.Scratch, err = filepath.EvalSymlinks(s.policy.Scratch); err != nil { // as /proc names it
		return err
	}
	if abi() >= scopes {
		s.hasScopes = scope.Restrict(landlock.PathAccess(landlocksys.AccessFSRefer, "/")) == nil
	}
	text, err := json.Marshal(s.policy)
	if err != nil {
		return err
	}
	theirs, ours, err := os.Pipe()
	if err != nil {
		return err
	}
	env := append(s.policy.Env, "HOME="+s.policy.Scratch, "TMPDIR="+s.policy.Scratch)
	attr := &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL}
	if s.group, err = newGroup(s.policy); err != nil {
		return fmt.Errorf("control group: %w", err)
	}
	if s.group != nil {
		attr.UseCgroupFD, attr.CgroupFD = true, int(s.group.Fd())
	}
	s.main, err = syscall.ForkExec("/proc/self/exe", []string{confinedName}, &syscall.ProcAttr{
		Env: env, Files: []uintptr{0, 1, 2, theirs.Fd()}, Sys: attr,
	})
	if err != nil {
		return err
	}
	theirs.Close()
	go func() {
		_, _ = ours.Write(text)
		ours.Close()
	}()
	return closePipes()
}

// closePipes closes the supervisor's copies of the trainer's standard input and output, so that
// each pipe closes when the trainer closes its own copy.
func closePipes() error {
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer null.Close()
	for fd := range 2 {
		if err := unix.Dup3(int(null.Fd()), fd, 0); err != nil {
			return err
		}
	}
	return nil
}

// reap collects ended descendants. The supervisor is the parent of every descendant whose own parent has ended.
func (s *supervisor) reap() {
	for {
		var status syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &status, 0, nil)
		switch {
		case err == syscall.EINTR:
		case err != nil: // no descendant is left
			close(s.noDescendants)
			return
		case pid == s.main:
			s.trainerExit <- s.exitCode(status)
		}
	}
}

// exitCode returns the exit code of the trainer's process. If a signal killed the process, the code is 128 plus the
// signal, as in a shell. If the supervisor did not send that signal, exitCode also prints it.
func (s *supervisor) exitCode(status syscall.WaitStatus) int {
	if status.Signaled() && !s.isEnding.Load() {
		fmt.Fprintf(os.Stderr, "sandbox: the trainer was killed by the signal %q\n", status.Signal())
	}
	if status.Signaled() {
		return 128 + int(status.Signal())
	}
	return status.ExitStatus()
}

// attend turns SIGTERM, SIGINT and SIGHUP into a SIGTERM to the trainer, and watches the limits. It
// returns the exit code when the trainer has ended, has exceeded a limit, or has lost its worker.
func (s *supervisor) attend(orphaned <-chan struct{}) int {
	signals := make(chan os.Signal, 4)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP)
	w, named := s.newWatch(), make(chan int64)
	go w.walk(named)
	timer := time.NewTimer(minInterval)
	for over := ""; over == ""; {
		select {
		case code := <-s.trainerExit:
			return code
		case <-orphaned:
			return exitFailed
		case <-signals:
			s.isEnding.Store(true)
			_ = unix.Kill(-s.main, syscall.SIGTERM)
		case size := <-named:
			over = w.files(size)
		case <-timer.C:
			begun := time.Now()
			over = w.processes()
			timer.Reset(interval(begun))
		}
		if over != "" {
			fmt.Fprintln(os.Stderr, "sandbox: the trainer is ended:", over)
		}
	}
	return exitFailed
}

// killAll kills all descendants and returns when none is left.
func (s *supervisor) killAll() {
	s.isEnding.Store(true)
	for {
		s.signal(unix.SIGKILL)
		select {
		case <-s.noDescendants:
			return
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// signal sends a signal to all descendants. The supervisor may signal all processes only if the kernel
// confines its signals to its descendants. In that case a signal to process 1 fails with EPERM.
func (s *supervisor) signal(sig syscall.Signal) {
	if s.hasScopes && unix.Kill(1, 0) == unix.EPERM {
		_ = unix.Kill(-1, sig)
		return
	}
	for _, pid := range descendants(os.Getpid()) {
		_ = unix.Kill(pid, sig)
	}
}
