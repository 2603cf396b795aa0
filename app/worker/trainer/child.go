package trainer

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"syscall"
	"time"

	"github.com/spdl/spdl/app/worker/trainer/sandbox"
)

// byeWait is the time that a child has to end after BYE, termWait the time after SIGTERM, killWait
// the time that a sandbox has to end all processes, and endWait the time for which the status of a
// child that closed its output is waited for.
const (
	byeWait  = 2 * time.Second
	termWait = 2 * time.Second
	killWait = time.Minute
	endWait  = 10 * time.Second
)

const (
	// outputPause is the time after a child's end for which its output is still read. The child's own output is in the
	// pipe by then, but processes that the child started may keep the pipe open without end.
	outputPause = time.Second
	// peekTime is the time for which ask looks for unrequested output before it writes a frame. Any
	// time above 0 is enough, because earlier output is already in the pipe.
	peekTime = time.Millisecond
)

// child is one running process of the trainer's program.
type child struct {
	cmd      *exec.Cmd
	lifeline *os.File // closing this pipe ends a contained child; nil without a sandbox
	stdin    *os.File // the child's standard input
	stdout   *os.File // the child's standard output
	reader   *bufio.Reader
	// protocol is the version in the child's answer to HELLO, 0 before that answer. questionNumber
	// is the number of the last question. The first number is random, so that a trainer that counts
	// the questions itself, and does not repeat the number of the question, is detected.
	protocol       int
	questionNumber uint32
	stderr         *lines        // the child's standard error
	done           chan struct{} // closed when the process has ended
}

// command returns the command of a trainer, and the two ends of the lifeline, a pipe that a contained trainer has. When
// lifeline is closed, the trainer ends; the command's process inherits childEnd. Without a sandbox both ends are nil.
func command(c Config) (cmd *exec.Cmd, lifeline, childEnd *os.File, err error) {
	if !c.Sandbox.Off {
		return sandbox.Command(c.Argv, c.Dir, c.Share.Data, c.Sandbox)
	}
	cmd = exec.Command(c.Argv[0], c.Argv[1:]...)
	cmd.Dir = c.Dir
	setProcessGroup(cmd)
	return cmd, nil, nil, nil
}

// launch starts a trainer's process. It does not send HELLO.
func launch(c Config) (k *child, err error) {
	c, forget, err := c.approvedCopy()
	if err != nil {
		return nil, err
	}
	cmd, life, theirs, err := command(c)
	if err != nil {
		return nil, errors.Join(err, forget())
	}
	defer func() {
		_ = theirs.Close() // the child has its own copy
		if err != nil {
			_, _ = life.Close(), forget()
		}
	}()
	heard := &lines{say: func(line string) { c.Log("trainer: " + line) }, allowed: c.logged}
	cmd.Stderr = heard
	cmd.WaitDelay = time.Second // the child's own children may keep standard error open
	theirIn, in, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	out, theirOut, err := os.Pipe()
	if err != nil {
		return nil, errors.Join(err, theirIn.Close(), in.Close())
	}
	cmd.Stdin, cmd.Stdout = theirIn, theirOut
	err = cmd.Start()
	_, _ = theirIn.Close(), theirOut.Close() // the child has its own copies
	if err != nil {
		return nil, errors.Join(err, in.Close(), out.Close())
	}
	k = &child{cmd: cmd, lifeline: life, stdin: in, stdout: out, reader: bufio.NewReaderSize(out, 1<<20), stderr: heard,
		done: make(chan struct{}), questionNumber: rand.Uint32()}
	go func() {
		_ = cmd.Wait() // ProcessState holds the result
		heard.end()
		_ = forget()
		close(k.done)
	}()
	return k, nil
}

// ErrLate means that a child's answer was not complete in time.
var ErrLate = errors.New("no answer in time")

// ask writes a frame, and calls answer to read the reply. Write and read fail when ctx ends. From
// protocol version 2 on the frame's body begins with a unique number, which the reply repeats.
func (k *child) ask(ctx context.Context, kind byte, body []byte, answer func(*reply) error) error {
	r := &reply{Reader: k.reader, hasNumber: k.protocol >= protocolSecond}
	if r.hasNumber {
		k.questionNumber++
		r.question = k.questionNumber
		body = append(binary.LittleEndian.AppendUint32(make([]byte, 0, numberBytes+len(body)), r.question), body...)
	}
	err := k.checkSilent(peekTime)
	if err == nil {
		err = k.withDeadline(ctx, func() error {
			if err := writeFrame(k.stdin, kind, body); err != nil {
				return err
			}
			return answer(r)
		})
	}
	switch {
	case err == nil:
		return nil
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return fmt.Errorf("%w%s", ErrLate, r.partial)
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, os.ErrDeadlineExceeded) ||
		errors.Is(err, os.ErrClosed) || errors.Is(err, syscall.EPIPE):
		return k.endError(ctx, err)
	}
	return err
}

// checkSilent returns an error if a child has written unrequested output, or writes some within the given time. Such
// output would be read as the answer to the next request, which is about another batch.
func (k *child) checkSilent(wait time.Duration) error {
	if k.stdin.SetDeadline(time.Time{}) != nil || k.stdout.SetReadDeadline(time.Now().Add(wait)) != nil {
		return nil // the pipes of this system have no deadlines
	}
	_, err := k.reader.Peek(1)
	_ = k.stdout.SetReadDeadline(time.Time{})
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return nil
	}
	if err == nil {
		said, _ := k.reader.Peek(min(k.reader.Buffered(), 40))
		err = fmt.Errorf("behind its last answer it wrote %q, which nothing asked for", said)
	}
	return err
}

// withDeadline runs a call to the child. If ctx ends during the call, the reads and writes on the child's pipes fail at
// once. If the child ends, they fail after outputPause, so that its last output can still be read.
func (k *child) withDeadline(ctx context.Context, call func() error) error {
	over, gone := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(gone)
		var until time.Time
		select {
		case <-over:
			return
		case <-ctx.Done():
			until = time.Unix(1, 0)
		case <-k.done:
			until = time.Now().Add(outputPause)
		}
		_, _ = k.stdin.SetDeadline(until), k.stdout.SetDeadline(until)
	}()
	err := call()
	close(over)
	<-gone
	return err
}

// errEnded means that a child's process has ended although the worker did not end it.
var errEnded = errors.New("it ended by itself")

// endError returns the error for a child that closed its standard output or input. If the child
// ends within endWait and before ctx, the error wraps errEnded and has the exit status. The pipes of a
// contained child close when the trainer ends, and its sandbox ends only after all that it started.
func (k *child) endError(ctx context.Context, err error) error {
	ctx, cancel := context.WithTimeout(ctx, endWait)
	defer cancel()
	select {
	case <-k.done:
		return fmt.Errorf("%w (%v)", errEnded, k.cmd.ProcessState)
	case <-ctx.Done():
		return fmt.Errorf("it closed its standard output: %w", err)
	}
}

// stop ends a child: with BYE if bye is set, then with SIGTERM and SIGKILL to the child's process
// group. In a sandbox, all processes that the child started end too, in every process group.
func (k *child) stop(bye bool) {
	if bye {
		_ = k.stdin.SetWriteDeadline(time.Now().Add(byeWait))
		_ = writeFrame(k.stdin, frameBye, nil)
	}
	_ = k.stdin.Close()
	if !bye || !k.endsWithin(byeWait) {
		terminate(k.cmd.Process)
		k.endsWithin(termWait)
	}
	_ = k.lifeline.Close() // Close on a nil file returns an error, which does not matter
	if k.lifeline == nil || !k.endsWithin(killWait) {
		kill(k.cmd.Process)
	}
	<-k.done
	_ = k.stdout.Close()
}

// endsWithin reports whether a child ends within d.
func (k *child) endsWithin(d time.Duration) bool {
	select {
	case <-k.done:
		return true
	case <-time.After(d):
		return false
	}
}
