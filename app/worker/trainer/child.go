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

// The time that a child has to end after BYE, and then after SIGTERM; and the time that a sandbox has
// to end all processes.
const (
	byeWait  = 2 * time.Second
	termWait = 2 * time.Second
	killWait = time.Minute
)

const (
	// lastWords is the time for which the output of an ended child is still read. All that the
	// child wrote is in the pipe by then, but processes that it started may hold its standard
	// output open without end.
	lastWords = time.Second
	// unasked is the time for which ask looks for unrequested output before it writes a frame. Any
	// time above 0 is enough, because earlier output is already in the pipe.
	unasked = time.Millisecond
)

// child is one running process of a trainer.
type child struct {
	cmd  *exec.Cmd
	life *os.File // its lifeline if it is contained, or nil
	in   *os.File // its standard input
	out  *os.File // its standard output
	read *bufio.Reader
	// protocol is the version that it answered HELLO with, 0 before; asked is the number of the last
	// question. The first is drawn, so that a trainer that counts by itself is found.
	protocol int
	asked    uint32
	said     *lines        // its standard error
	done     chan struct{} // closed when the process has ended
}

// command returns the command of a trainer, and what keeps it alive if it is contained: a lifeline,
// and the end of it that the command's process takes. Both are nil otherwise.
func command(c Config) (cmd *exec.Cmd, life, theirs *os.File, err error) {
	if !c.Sandbox.Off {
		return sandbox.Command(c.Argv, c.Dir, c.Share.Data, c.Sandbox)
	}
	cmd = exec.Command(c.Argv[0], c.Argv[1:]...)
	cmd.Dir = c.Dir
	grouped(cmd)
	return cmd, nil, nil, nil
}

// launch starts a trainer's process. HELLO is not sent yet.
func launch(c Config) (k *child, err error) {
	c, code, err := c.approved()
	if err != nil {
		return nil, err
	}
	forget := func() {
		if code != "" {
			_ = os.RemoveAll(code)
		}
	}
	cmd, life, theirs, err := command(c)
	if err != nil {
		forget()
		return nil, err
	}
	defer func() {
		_ = theirs.Close() // the child has it
		if err != nil {
			_ = life.Close()
			forget()
		}
	}()
	heard := &lines{say: func(line string) { c.Log("trainer: " + line) }}
	cmd.Stderr = heard
	cmd.WaitDelay = time.Second // wait for standard error, which the child's own children may hold open
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
	k = &child{cmd: cmd, life: life, in: in, out: out, read: bufio.NewReaderSize(out, 1<<20), said: heard,
		done: make(chan struct{}), asked: rand.Uint32()}
	go func() {
		_ = cmd.Wait() // ProcessState says how it ended
		heard.end()
		forget()
		close(k.done)
	}()
	return k, nil
}

// ask writes a frame and reads the answer, both before ctx ends. From version 2 the frame begins with
// a number of its own, which the answer repeats.
func (k *child) ask(ctx context.Context, kind byte, body []byte, answer func(*reply) error) error {
	r := &reply{Reader: k.read, numbered: k.protocol >= protocolSecond}
	if r.numbered {
		k.asked++
		r.question = k.asked
		body = append(binary.LittleEndian.AppendUint32(make([]byte, 0, numberBytes+len(body)), r.question), body...)
	}
	err := k.silent(unasked)
	if err == nil {
		err = k.limited(ctx, func() error {
			if err := writeFrame(k.in, kind, body); err != nil {
				return err
			}
			return answer(r)
		})
	}
	switch {
	case err == nil:
		return nil
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return fmt.Errorf("no answer in time")
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, os.ErrDeadlineExceeded) ||
		errors.Is(err, os.ErrClosed) || errors.Is(err, syscall.EPIPE):
		return k.ended(err)
	}
	return err
}

// silent returns an error if a child has written output without a request, or does so within a time:
// it would be read as the answer to the next request, which is about another batch.
func (k *child) silent(within time.Duration) error {
	if k.in.SetDeadline(time.Time{}) != nil || k.out.SetReadDeadline(time.Now().Add(within)) != nil {
		return nil // no deadlines on this system's pipes
	}
	_, err := k.read.Peek(1)
	_ = k.out.SetReadDeadline(time.Time{})
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return nil
	}
	if err == nil {
		said, _ := k.read.Peek(min(k.read.Buffered(), 40))
		err = fmt.Errorf("behind its last answer it wrote %q, which nothing asked for", said)
	}
	return err
}

// limited calls do. The reads and writes of do fail once ctx has ended, or lastWords after the
// child has ended.
func (k *child) limited(ctx context.Context, do func() error) error {
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
			until = time.Now().Add(lastWords)
		}
		_, _ = k.in.SetDeadline(until), k.out.SetDeadline(until)
	}()
	err := do()
	close(over)
	<-gone
	return err
}

// errEnded means that a child's process has ended without being told to.
var errEnded = errors.New("it ended by itself")

// ended returns the error for a child that closed its standard output or input, which says how the
// child ended, if it did.
func (k *child) ended(err error) error {
	select {
	case <-k.done:
		return fmt.Errorf("%w (%v)", errEnded, k.cmd.ProcessState)
	case <-time.After(time.Second):
		return fmt.Errorf("it closed its standard output: %w", err)
	}
}

// stop ends a child: by BYE if bye is set, then by SIGTERM and SIGKILL to its whole group. With a
// contained one end all of its processes, in whichever group they are.
func (k *child) stop(bye bool) {
	if bye {
		_ = k.in.SetWriteDeadline(time.Now().Add(byeWait))
		_ = writeFrame(k.in, frameBye, nil)
	}
	_ = k.in.Close()
	if !bye || !k.within(byeWait) {
		terminate(k.cmd.Process)
		k.within(termWait)
	}
	_ = k.life.Close() // nil.Close() is an error that says nothing
	if k.life == nil || !k.within(killWait) {
		kill(k.cmd.Process)
	}
	<-k.done
	_ = k.out.Close()
}

// within reports whether a child ends within d.
func (k *child) within(d time.Duration) bool {
	select {
	case <-k.done:
		return true
	case <-time.After(d):
		return false
	}
}
