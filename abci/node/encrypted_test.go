package node

import (
	"bytes"
	"encoding/base64"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/cometbft/cometbft/libs/log"
	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/abci/home"
	"github.com/spdl/spdl/internal/stage"
)

// TestNoPlainKeyOnDisk trains with an encrypted home, stops it and starts it again. No file of the
// home or of the folder for temporary files ever has a key in plain: each is read all the time.
func TestNoPlainKeyOnDisk(t *testing.T) {
	stage.OnlyLong(t) // runs a node
	c, a := alone(t, 100_000)
	t.Setenv("TMPDIR", filepath.Join(c.RootDir, "tmp"))
	require.NoError(t, os.Mkdir(filepath.Join(c.RootDir, "tmp"), 0o700))
	plain := new(home.Keystore)
	keys, err := plain.LoadKeys(home.InHome(c, a.Worker.KeyFile))
	require.NoError(t, err)
	validator, err := plain.LoadValidatorKey(c.PrivValidatorKeyFile())
	require.NoError(t, err)
	nodeKey, err := plain.LoadNodeKey(c.NodeKeyFile())
	require.NoError(t, err)
	secrets := [][]byte{keys.Signing, keys.VRF, validator, nodeKey.PrivKey.Bytes()}
	found := func() (paths []string) {
		require.NoError(t, filepath.WalkDir(c.RootDir, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return nil // a file that is gone
			}
			data, _ := os.ReadFile(path)
			for _, s := range secrets {
				if bytes.Contains(data, s[:32]) || bytes.Contains(data, []byte(base64.StdEncoding.EncodeToString(s)[:40])) {
					paths = append(paths, path)
					break
				}
			}
			return nil
		}))
		return paths
	}
	require.Len(t, found(), 3, "the scan finds plain keys")
	files, err := home.KeyFiles(c, a)
	require.NoError(t, err)
	asked := 0
	ask := func() (string, error) { asked++; return "correct horse battery", nil }
	_, err = home.NewKeystore(c.RootDir, ask).Encrypt(files, ask)
	require.NoError(t, err)
	require.Empty(t, found())

	_, err = Start(c, a, log.NewNopLogger(), Hooks{})
	require.ErrorIs(t, err, home.ErrLocked)
	asked = 0
	for _, round := range []uint64{3, 6} {
		r, err := Start(c, a, log.NewNopLogger(), Hooks{Keys: home.NewKeystore(c.RootDir, ask)})
		require.NoError(t, err)
		var at uint64
		for end := time.Now().Add(2 * time.Minute); at < round && time.Now().Before(end); _, at = r.Application.Pending() {
			require.Empty(t, found())
		}
		require.GreaterOrEqual(t, at, round)
		require.NoError(t, r.Stop())
		require.Empty(t, r.Failed())
		require.Empty(t, found())
	}
	require.Equal(t, 2, asked, "once a start")
}
