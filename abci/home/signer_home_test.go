package home

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/app/tx"
	"github.com/spdl/spdl/app/worker"
	"github.com/spdl/spdl/app/worker/signer"
)

// splitHome makes a home and returns the move of its keys to a signer's home.
func splitHome(t *testing.T) (dir string, m SignerMove) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "node")
	_, err := Init(dir, DefaultConfig(), DefaultAppConfig())
	require.NoError(t, err)
	socket, err := os.MkdirTemp("", "s") // a socket's path has at most 107 bytes
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(socket)) })
	s := DefaultAppConfig().Signer
	s.Listen, s.Allow = "unix://"+filepath.Join(socket, "s"), []string{"approve"}
	return dir, SignerMove{Dir: filepath.Join(t.TempDir(), "vault"), Signer: s, Address: s.Listen}
}

func move(t *testing.T, dir string, m SignerMove) error {
	t.Helper()
	c, a, err := Load(dir)
	require.NoError(t, err)
	return MoveToSigner(c, a, NewKeystore(dir, nil), m)
}

// TestMoveToSigner: after the move only the signer's home has the keys and the journal, and the
// node's home signs through the signer. The error about an operation that the signer does not allow
// says where to run the command.
func TestMoveToSigner(t *testing.T) {
	dir, m := splitHome(t)
	c, a, err := Load(dir)
	require.NoError(t, err)
	keys, err := new(Keystore).LoadKeys(InHome(c, a.Worker.KeyFile))
	require.NoError(t, err)
	held, err := worker.Lock(InHome(c, a.Worker.Journal))
	require.NoError(t, err)
	require.ErrorIs(t, move(t, dir, m), worker.ErrBusy, "the node runs")
	require.NoError(t, held.Close())
	require.NoError(t, move(t, dir, m))
	require.ErrorContains(t, move(t, dir, m), "the keys of this home are at its signer")

	for _, gone := range []string{a.Worker.KeyFile, a.Worker.Journal} {
		require.NoFileExists(t, InHome(c, gone))
	}
	vault, own, err := Load(m.Dir)
	require.NoError(t, err)
	moved, err := new(Keystore).LoadKeys(InHome(vault, own.Worker.KeyFile))
	require.NoError(t, err)
	require.Equal(t, keys, moved)
	require.False(t, own.Worker.Enabled)
	info, err := worker.ReadJournalInfo(InHome(vault, own.Worker.Journal))
	require.NoError(t, err)
	require.True(t, info.New)

	c, a, err = Load(dir)
	require.NoError(t, err)
	p, err := OpenParticipant(context.Background(), c, a, new(Keystore))
	require.NoError(t, err, "a signer that is away does not keep a home from starting")
	require.Equal(t, ParticipantWith(keys).PublicKeys, p.PublicKeys)
	require.Contains(t, p.Signer.Away(), "the signer does not answer")

	l, err := signer.Listen(m.Signer.Listen, "", nil, nil)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	nothing := func(string, ...any) {}
	local := worker.NewLocal(keys, nil, InHome(vault, own.Worker.Journal))
	go func() {
		done <- signer.NewServer(local, signer.Policy{ChainID: "chain", Allow: own.Signer.Allow, Rate: 9},
			nothing).Serve(ctx, l)
	}()
	_, err = p.Sign(ctx, "chain", &tx.Approve{})
	require.NoError(t, err)
	_, err = p.Sign(ctx, "chain", &tx.Remove{})
	require.ErrorIs(t, err, signer.ErrDenied)
	require.ErrorContains(t, err, "run this command with the signer's home")
	cancel()
	require.NoError(t, <-done)

	require.NoError(t, new(Keystore).WriteKeys(InHome(c, a.Worker.KeyFile), keys))
	_, err = OpenParticipant(context.Background(), c, a, new(Keystore))
	require.ErrorContains(t, err, "two processes would sign with one key")
}

// TestMoveToSignerCutOff: at whichever step a crash interrupts the move, two homes with the keys
// cannot both start, and another call completes the move.
func TestMoveToSignerCutOff(t *testing.T) {
	starts := func(dir string) bool {
		c, a, err := Load(dir)
		if err != nil {
			return false
		}
		p, err := OpenParticipant(context.Background(), c, a, new(Keystore))
		return err == nil && p.Signer == nil
	}
	for name, cut := range map[string]func(dir string, m SignerMove){
		"before the node names the signer": func(dir string, m SignerMove) {
			require.NoError(t, os.MkdirAll(filepath.Join(m.Dir+partSuffix, "config"), 0o700))
		},
		"before the signer's home has its name": func(dir string, m SignerMove) {
			c, a, err := Load(dir)
			require.NoError(t, err)
			require.NoError(t, beginMove(c, a, new(Keystore), m))
			require.False(t, starts(dir))
		},
		"before the keys are removed": func(dir string, m SignerMove) {
			c, a, err := Load(dir)
			require.NoError(t, err)
			require.NoError(t, beginMove(c, a, new(Keystore), m))
			require.NoError(t, os.Rename(m.Dir+partSuffix, m.Dir))
			require.False(t, starts(dir))
		},
	} {
		dir, m := splitHome(t)
		cut(dir, m)
		require.False(t, starts(m.Dir) && starts(dir), name)
		require.NoError(t, move(t, dir, m), name)
		require.True(t, starts(m.Dir), name)
		require.False(t, starts(dir), name)
	}

	dir, m := splitHome(t)
	require.NoError(t, os.MkdirAll(m.Dir, 0o700))
	require.ErrorContains(t, move(t, dir, m), "exists already")
	require.True(t, starts(dir))
}

// TestMoveToSignerOverTCP: each side gets the other's certificate.
func TestMoveToSignerOverTCP(t *testing.T) {
	dir, m := splitHome(t)
	m.Signer.Listen, m.Address = "tcp://0.0.0.0:26661", "tcp://10.0.0.6:26661"
	require.NoError(t, move(t, dir, m))
	read := func(at, name string) string {
		data, err := os.ReadFile(filepath.Join(at, "config/signer", name))
		require.NoError(t, err)
		return string(data)
	}
	require.Equal(t, read(dir, signer.OwnCertificate), read(m.Dir, signer.PeerCertificate))
	require.Equal(t, read(m.Dir, signer.OwnCertificate), read(dir, signer.PeerCertificate))
	require.NotEqual(t, read(dir, signer.OwnKey), read(m.Dir, signer.OwnKey))
	_, a, err := Load(dir)
	require.NoError(t, err)
	require.Equal(t, m.Address, a.Worker.Signer)
	a.Worker.Signer = "10.0.0.6:26661"
	require.ErrorContains(t, a.Validate(), "worker.signer")
	a.Worker.Signer, a.Signer.Allow = "", []string{"gradient"}
	require.ErrorContains(t, a.Validate(), `signer.allow has "gradient"`)
	a.Signer.Allow, a.Signer.Rate = nil, 0
	require.ErrorContains(t, a.Validate(), "signer.rate")
	_, err = SignerConfig{Users: []string{"nobody-has-this-name"}}.UserIDs()
	require.ErrorContains(t, err, "no user of this host")
	require.False(t, errors.Is(err, os.ErrNotExist))
}
