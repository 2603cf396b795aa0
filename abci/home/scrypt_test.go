package home

import (
	"bytes"
	"testing"

	"filippo.io/age"
	"github.com/stretchr/testify/require"
	"golang.org/x/text/unicode/norm"
)

func sealed(t *testing.T, passphrase string, factor int) []byte {
	t.Helper()
	to, err := age.NewScryptRecipient(passphrase)
	require.NoError(t, err)
	to.SetWorkFactor(factor)
	identity, err := age.GenerateX25519Identity()
	require.NoError(t, err)
	data, err := encryptTo([]byte(identity.String()), to)
	require.NoError(t, err)
	return data
}

// TestCostlyFiles: a backup or an identity that asks for more work than maxWorkFactor is rejected before the work, with
// what it asks for.
func TestCostlyFiles(t *testing.T) {
	costly := bytes.Replace(sealed(t, "a long passphrase", 10), []byte(" 10\n"), []byte(" 21\n"), 1)
	_, err := Restore(bytes.NewReader(costly), t.TempDir(), "a long passphrase")
	require.EqualError(t, err, "the file asks for too much work: 2^21 steps of scrypt and 2^31 bytes of memory, at most "+
		"2^20 steps")
	_, err = openIdentity("identity.age", costly, "a long passphrase")
	require.ErrorContains(t, err, "identity.age: the file asks for too much work: 2^21 steps")
}

// TestFormsOfPassphrases: the letters of a passphrase count, and not their code points: in files of today, and in files
// of releases that took a passphrase as it was typed.
func TestFormsOfPassphrases(t *testing.T) {
	workFactor = 2
	t.Cleanup(func() { workFactor = 18 })
	composed, decomposed := norm.NFC.String("für Zürich 2026"), norm.NFD.String("für Zürich 2026")
	require.NotEqual(t, composed, decomposed)
	mixed := composed[:4] + decomposed[5:]
	identity, err := age.GenerateX25519Identity()
	require.NoError(t, err)
	for _, typed := range []string{composed, decomposed, mixed} {
		to, err := scryptRecipient(typed)
		require.NoError(t, err)
		data, err := encryptTo([]byte(identity.String()), to)
		require.NoError(t, err)
		for _, said := range []string{composed, decomposed, mixed} {
			got, err := openIdentity("identity.age", data, said)
			require.NoError(t, err)
			require.Equal(t, identity.String(), got.String())
		}
		_, err = openIdentity("identity.age", sealed(t, typed, 2), typed)
		require.NoError(t, err, "a file of an earlier release, with the same keyboard")
	}
	_, err = openIdentity("identity.age", sealed(t, decomposed, 2), composed)
	require.NoError(t, err)
	_, err = openIdentity("identity.age", sealed(t, "fur Zurich 2026", 2), composed)
	require.ErrorContains(t, err, "the passphrase does not open")
}
