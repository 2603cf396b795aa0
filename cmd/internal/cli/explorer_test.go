package cli

import (
	"bytes"
	"context"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/abci/home"
	"github.com/spdl/spdl/cmd/internal/cli/command"
)

// endAt calls end when something is written to it.
type endAt struct {
	bytes.Buffer
	end func()
}

func (w *endAt) Write(p []byte) (int, error) { defer w.end(); return w.Buffer.Write(p) }

// TestExplorerAddress: a given address that is taken is an error, even if it is the default one; without the flag the
// explorer takes another port, and says so.
func TestExplorerAddress(t *testing.T) {
	laddr := home.DefaultAppConfig().Explorer.Laddr
	if l, err := net.Listen("tcp", strings.TrimPrefix(laddr, "tcp://")); err == nil { // else another program has taken it
		defer l.Close()
	}
	stdout, stderr, code := spdl(t, "explorer", "--laddr", laddr, "--node", "tcp://127.0.0.1:1")
	require.Equal(t, command.Failure, code)
	require.Empty(t, stdout)
	require.Contains(t, stderr, "address already in use")
	require.Contains(t, stderr, "--laddr")

	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	var errs bytes.Buffer
	out := &endAt{end: cancel}
	require.Zero(t, Main(ctx, []string{"explorer", "--node", "tcp://127.0.0.1:1"}, out, &errs), errs.String())
	require.Contains(t, errs.String(), laddr+" is in use: the pages are at "+
		strings.TrimSpace(strings.TrimPrefix(out.String(), "http://")))
}
