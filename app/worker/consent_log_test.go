package worker_test

import (
	"bytes"
	"crypto/ed25519"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/app/apptest"
	"github.com/spdl/spdl/app/worker/consent"
)

var at = time.Date(2026, 11, 24, 12, 0, 0, 0, time.UTC)

func about(t *testing.T, chain string, epoch uint64, rounds uint64) consent.Subject {
	t.Helper()
	p := apptest.Params(1)
	p.Training.Rounds = rounds
	s, err := consent.SubjectOf(chain, epoch, p)
	require.NoError(t, err)
	return s
}

func sign(t *testing.T, s consent.Subject, d consent.Decision, key ed25519.PrivateKey) consent.Record {
	t.Helper()
	r, err := consent.Sign(s, d, at, key)
	require.NoError(t, err)
	return r
}

// TestConsentIsToOneThing: consent counts for its chain, its epoch, its parameters and its
// participant alone; the last decision about them counts; a rotation keeps it.
func TestConsentIsToOneThing(t *testing.T) {
	key := apptest.Key(0)
	own := app.Participant{PubKey: key.Public().(ed25519.PublicKey)}
	log := consent.Open(filepath.Join(t.TempDir(), "config", "consent.jsonl"))
	all, err := log.Records()
	require.NoError(t, err)
	subject := about(t, "chain", 1, 10)
	decided := func(s consent.Subject, p app.Participant) consent.Decision {
		all, err = log.Records()
		require.NoError(t, err)
		d, _ := consent.DecisionOf(all, s, p)
		return d
	}
	require.Equal(t, consent.Awaited, decided(subject, own))
	require.NoError(t, log.Add(sign(t, subject, consent.Consented, key)))
	require.Equal(t, consent.Consented, decided(subject, own))
	for name, other := range map[string]consent.Subject{"chain": about(t, "other", 1, 10),
		"epoch": about(t, "chain", 2, 10), "parameters": about(t, "chain", 1, 11)} {
		require.Equal(t, consent.Awaited, decided(other, own), name)
	}
	stranger := app.Participant{PubKey: apptest.Key(1).Public().(ed25519.PublicKey)}
	require.Equal(t, consent.Awaited, decided(subject, stranger))
	stranger.FormerKeys = []app.FormerKey{{PubKey: own.PubKey}}
	require.Equal(t, consent.Consented, decided(subject, stranger), "after a rotation")
	require.NoError(t, log.Add(sign(t, subject, consent.Rejected, key)))
	require.Equal(t, consent.Rejected, decided(subject, own), "withdrawn")
	require.NoError(t, log.Add(sign(t, subject, consent.Consented, key)))
	require.Equal(t, consent.Consented, decided(subject, own))
	require.Len(t, all, 3, "the file keeps all decisions")
	_, err = consent.Sign(subject, consent.Awaited, at, key)
	require.ErrorIs(t, err, consent.ErrRecord)
}

// TestForgedRecord: a record that was changed, that is signed by another key, or that is cut off
// makes the whole file fail, with the line.
func TestForgedRecord(t *testing.T) {
	path := filepath.Join(t.TempDir(), "consent.jsonl")
	log := consent.Open(path)
	subject := about(t, "chain", 1, 10)
	require.NoError(t, log.Add(sign(t, subject, consent.Rejected, apptest.Key(0))))
	right, err := os.ReadFile(path)
	require.NoError(t, err)
	for name, wrong := range map[string][]byte{
		"decision":  bytes.Replace(right, []byte(`"rejected"`), []byte(`"consented"`), 1),
		"epoch":     bytes.Replace(right, []byte(`"epoch":1`), []byte(`"epoch":2`), 1),
		"time":      bytes.Replace(right, []byte("2026"), []byte("2027"), 1),
		"cut off":   right[:len(right)-10],
		"field":     bytes.Replace(right, []byte(`{`), []byte(`{"more":1,`), 1),
		"short key": []byte(`{"chain_id":"c","decision":"consented","pub_key":"AAAA"}`),
		"no record": []byte("yes\n"),
	} {
		require.NoError(t, os.WriteFile(path, append(bytes.Clone(right), wrong...), 0o600))
		for range 2 { // the second time from the cache
			_, err := log.Records()
			require.ErrorIs(t, err, consent.ErrRecord, name)
			require.ErrorContains(t, err, "line 2", name)
		}
		require.ErrorIs(t, log.Add(sign(t, subject, consent.Consented, apptest.Key(0))), consent.ErrRecord)
	}
	require.NoError(t, os.WriteFile(path, right, 0o600))
	all, err := log.Records()
	require.NoError(t, err)
	require.Len(t, all, 1)
	forged := all[0]
	forged.PubKey = apptest.Key(1).Public().(ed25519.PublicKey)
	require.ErrorIs(t, log.Add(forged), consent.ErrRecord)
}

// FuzzRecords: no file makes the log panic.
func FuzzRecords(f *testing.F) {
	f.Add([]byte(`{"chain_id":"c","epoch":1,"params_hash":"00","decision":"consented","time":"2026-11-24T12:00:00Z",` +
		`"pub_key":"AAAA","signature":""}` + "\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		path := filepath.Join(t.TempDir(), "log")
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
		all, err := consent.Open(path).Records()
		if err == nil && len(bytes.TrimSpace(text)) > 0 && len(all) == 0 {
			t.Fatal("a text is no record, and no error")
		}
	})
}
