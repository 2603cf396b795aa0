package command

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func pipe(t *testing.T) (r, w *os.File) {
	t.Helper()
	r, w, err := os.Pipe()
	require.NoError(t, err)
	t.Cleanup(func() { _, _ = r.Close(), w.Close() })
	return r, w
}

// TestLogQueue: while nobody reads, every write returns, and later the log has all lines that it kept, in order, and
// the number of those that it dropped.
func TestLogQueue(t *testing.T) {
	const lines = 3 * maxQueued / 100
	r, w := pipe(t)
	q := newLogQueue(w)
	for i := range lines {
		n, err := fmt.Fprintf(q, "%099d\n", i)
		require.NoError(t, err)
		require.Equal(t, 100, n)
	}
	in, kept, dropped := bufio.NewReader(r), 0, 0
	for dropped == 0 {
		line, err := in.ReadString('\n')
		require.NoError(t, err)
		if strings.Contains(line, lostLines) {
			_, err = fmt.Sscan(line, &dropped)
			require.NoError(t, err)
			break
		}
		require.Equal(t, fmt.Sprintf("%099d\n", kept), line, "the first lines are kept")
		kept++
	}
	require.Equal(t, lines, kept+dropped)
	require.Greater(t, kept, maxQueued/100-1)
	fmt.Fprintln(q, "read again")
	line, err := in.ReadString('\n')
	require.NoError(t, err)
	require.Equal(t, "read again\n", line)
	q.close()
	select {
	case <-q.done:
	default:
		t.Fatal("close returned before the queue was empty")
	}
}

// TestLogQueueEnds: the end of a service waits a second for a log that nobody reads, and not for one whose reader has
// gone. That reader's lines count as lost.
func TestLogQueueEnds(t *testing.T) {
	_, w := pipe(t)
	q := newLogQueue(w)
	fmt.Fprintln(q, strings.Repeat("x", 1<<17)) // more than a pipe holds
	start := time.Now()
	q.close()
	require.GreaterOrEqual(t, time.Since(start), lastWait)
	select {
	case <-q.done:
		t.Fatal("who has read the line?")
	default:
	}

	r, w := pipe(t)
	require.NoError(t, r.Close())
	q = newLogQueue(w)
	fmt.Fprint(q, "one\ntwo\n")
	q.close()
	<-q.done
	require.Equal(t, 2, q.lost)
}

// TestUntilEnd: data wait for their reader, until a signal ends the run.
func TestUntilEnd(t *testing.T) {
	ctx, end := context.WithCancel(t.Context())
	r, w := pipe(t)
	out := &untilEnd{Writer: w, ctx: ctx}
	fmt.Fprintln(out, "first")
	line, err := bufio.NewReader(r).ReadString('\n')
	require.NoError(t, err)
	require.Equal(t, "first\n", line)
	time.AfterFunc(100*time.Millisecond, end)
	_, err = out.Write(make([]byte, 1<<17))
	require.ErrorIs(t, err, context.Canceled)
	_, err = out.Write([]byte("x"))
	require.ErrorIs(t, err, context.Canceled)
}
