package node

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"syscall"
	"testing"

	"github.com/cometbft/cometbft/libs/log"
	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/abci/databases"
)

// TestWhatIsNoErrorFillsNoLog: needless evidence, connections that break while the node stops, and
// connections that a peer closed are not logged as errors. Other failures are logged as errors.
func TestWhatIsNoErrorFillsNoLog(t *testing.T) {
	var out bytes.Buffer
	var heardOf []string
	stopping := make(chan struct{})
	h := logMonitor{log.NewFilter(log.NewTMLogger(&out), log.AllowError()),
		func(message string, _ any) { heardOf = append(heardOf, message) }, stopping}
	h.With("module", "evidence").Error("Can't add evidence to pending list", "err",
		fmt.Errorf("can't persist evidence: %w", databases.ErrNeedless), "ev", 1)
	require.Empty(t, out.String())
	h.Error("Can't add evidence to pending list", "err", errors.New("disk full"))
	require.Contains(t, out.String(), "disk full")
	require.Len(t, heardOf, 1)
	out.Reset()
	h.Error("Stopping peer for error", "peer", "a", "err", io.EOF)
	require.Empty(t, out.String())
	require.Len(t, heardOf, 1)
	h.Error("Stopping peer for error", "peer", "a", "err", errors.New("a message that cannot be decoded"))
	require.Contains(t, out.String(), "cannot be decoded")
	close(stopping)
	out.Reset()
	h.Error("Stopping peer for error", "err", errors.New("EOF"))
	require.Empty(t, out.String(), "it is to stop")
	h.Error(saidHalted, "err", errors.New("a fault"))
	require.Contains(t, out.String(), "a fault")
}

// TestVoteUnsigned: a vote that is not signed because a file cannot be written ends the node. A signer that is
// away does not.
func TestVoteUnsigned(t *testing.T) {
	r := &Running{failures: make(chan error, 1)}
	h := logMonitor{log.NewNopLogger(), r.onError, nil}
	h.Error(saidUnsigned, "err", errors.New("the signer is away"))
	require.Empty(t, r.failures)
	h.Error(saidUnsigned, "err", fmt.Errorf("wal: %w", &fs.PathError{Op: "write", Path: "wal", Err: syscall.ENOSPC}))
	require.Len(t, r.failures, 1)
	err := <-r.failures
	require.ErrorIs(t, err, errNoLog)
	require.ErrorIs(t, err, syscall.ENOSPC)
}
