package trainer

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"
)

// How long a child may take to end by itself, and after SIGTERM.
const (
	byeWait  = 2 * time.Second
	termWait = 2 * time.Second
)

// child is one running process of a trainer.
type child struct {
	cmd  *exec.Cmd
	in   *os.File // its standard input
	out  *os.File // its standard output
	read *bufio.Reader
	done chan struct{} // closed when it has ended
}

// launch starts a trainer's process, which has said nothing yet.
func launch(c Config) (*child, error) {
	cmd := exec.Command(c.Argv[0], c.Argv[1:]...)
	cmd.Dir = c.Dir
	cmd.Stderr = &lines{say: func(line string) { c.Log("trainer: " + line) }}
	cmd.WaitDelay = time.Second // for standard error, which its own children may hold
	grouped(cmd)
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
	_, _ = theirIn.Close(), theirOut.Close() // the child has them
	if err != nil {
		return nil, errors.Join(err, in.Close(), out.Close())
	}
	k := &child{cmd: cmd, in: in, out: out, read: bufio.NewReaderSize(out, 1<<20), done: make(chan struct{})}
	go func() { _ = cmd.Wait(); close(k.done) }() // ProcessState says how it ended
	return k, nil
}

// ask writes a frame and reads the answer, both before ctx ends.
func (k *child) ask(ctx context.Context, kind byte, body []byte, answer func(*bufio.Reader) error) error {
	past := time.Unix(1, 0)
	stop := context.AfterFunc(ctx, func() { _, _ = k.in.SetDeadline(past), k.out.SetDeadline(past) })
	defer stop()
	err := writeFrame(k.in, kind, body)
	if err == nil {
		err = answer(k.read)
	}
	switch {
	case err == nil:
		return nil
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return fmt.Errorf("no answer in time")
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, os.ErrClosed) || errors.Is(err, syscall.EPIPE):
		return k.ended(err)
	}
	return err
}

// ended says how a child ended that closed its standard output or input.
func (k *child) ended(err error) error {
	select {
	case <-k.done:
		return fmt.Errorf("it ended by itself (%v)", k.cmd.ProcessState)
	case <-time.After(time.Second):
		return fmt.Errorf("it closed its standard output: %w", err)
	}
}

// stop ends a child: by BYE where it may still listen, then by SIGTERM, then by SIGKILL
// to its whole group.
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
	kill(k.cmd.Process)
	<-k.done
	_ = k.out.Close()
}

// within reports whether a child ends within a time.
func (k *child) within(d time.Duration) bool {
	select {
	case <-k.done:
		return true
	case <-time.After(d):
		return false
	}
}

// lines passes whole lines on, and cuts long ones.
type lines struct {
	say func(string)
	buf []byte
}

const maxLine = 2000

func (l *lines) Write(p []byte) (int, error) {
	n := len(p)
	for {
		line, rest, found := bytes.Cut(p, []byte("\n"))
		l.buf = append(l.buf, line[:min(len(line), maxLine-len(l.buf))]...)
		if !found {
			return n, nil
		}
		l.say(strings.ToValidUTF8(string(l.buf), "?"))
		l.buf, p = l.buf[:0], rest
	}
}
