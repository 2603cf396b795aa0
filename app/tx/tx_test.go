package tx_test

import (
	"bytes"
	"crypto/ed25519"
	"crypto/sha256"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/app/leader"
	"github.com/spdl/spdl/app/tx"
)

const chain = "chain-1"

var key = ed25519.NewKeyFromSeed(bytes.Repeat([]byte{7}, 32))

func gradient() *tx.Gradient {
	return &tx.Gradient{Epoch: 1, Round: 300, Participant: 2, Payload: []byte{1, 2, 255}}
}

func aggregate() *tx.Aggregate {
	return &tx.Aggregate{Round: 5, Leader: 3, View: 1, Digest: make([]byte, 32),
		Included: []tx.Included{{Participant: 0, Hash: make([]byte, 32)}, {Participant: 2, Hash: make([]byte, 32)}}}
}

func sign(t *testing.T, b tx.Body) *tx.Tx {
	t.Helper()
	x, err := tx.Sign(chain, b, key)
	require.NoError(t, err)
	return x
}

func TestSignDecodeVerify(t *testing.T) {
	pub := key.Public().(ed25519.PublicKey)
	for _, body := range []tx.Body{gradient(), aggregate(), &tx.Gradient{}, &tx.Aggregate{}} {
		signed := sign(t, body)
		got, err := tx.Decode(signed.Raw)
		require.NoError(t, err)
		require.Equal(t, signed.Hash, got.Hash)
		require.Equal(t, signed.Content, got.Content)
		require.Equal(t, signed.Kind(), got.Kind())
		require.NoError(t, got.Verify(chain, pub))
		require.ErrorIs(t, got.Verify("chain-2", pub), tx.ErrSignature)
		require.ErrorIs(t, got.Verify(chain, make([]byte, 32)), tx.ErrSignature)
		require.ErrorIs(t, got.Verify(chain, pub[:31]), tx.ErrSignature)
	}
}

// TestHeader: the signature of a gradient covers only the hash of its payload, so the header alone
// proves what was signed.
func TestHeader(t *testing.T) {
	g := gradient()
	x := sign(t, g)
	h := g.Header()
	require.Len(t, h.PayloadHash, 32)
	g.Payload = []byte{1, 2, 254}
	require.NotEqual(t, x.Content, sign(t, g).Content)
}

func envelope(t *testing.T, x *tx.Tx, change func(*tx.Envelope)) []byte {
	t.Helper()
	var e tx.Envelope
	require.NoError(t, e.Unmarshal(x.Raw))
	change(&e)
	raw, err := e.Marshal()
	require.NoError(t, err)
	return raw
}

func TestDecodeRefuses(t *testing.T) {
	g := sign(t, gradient())
	content := func(t *testing.T) []byte {
		var e tx.Envelope
		require.NoError(t, e.Unmarshal(g.Raw))
		return e.Content
	}(t)
	for name, c := range map[string]struct {
		raw  []byte
		want error
	}{
		"nothing":       {nil, tx.ErrUnknownKind},
		"noise":         {[]byte("not a transaction"), tx.ErrMalformed},
		"truncated":     {g.Raw[:len(g.Raw)-1], tx.ErrMalformed},
		"trailing byte": {append(bytes.Clone(g.Raw), 0), tx.ErrMalformed},
		"unknown field": {append(bytes.Clone(g.Raw), 0x78, 1), tx.ErrNotCanonical},
		"field twice":   {append(bytes.Clone(g.Raw), 8, 1), tx.ErrNotCanonical},
		"padded varint": {append([]byte{8, 0x81, 0}, g.Raw[2:]...), tx.ErrNotCanonical},
		"unknown kind":  {envelope(t, g, func(e *tx.Envelope) { e.Kind = 77 }), tx.ErrUnknownKind},
		"no signature":  {envelope(t, g, func(e *tx.Envelope) { e.Signature = nil }), tx.ErrMalformed},
		"long signature": {envelope(t, g, func(e *tx.Envelope) { e.Signature = make([]byte, 65) }),
			tx.ErrMalformed},
		"content is not canonical": {envelope(t, g, func(e *tx.Envelope) {
			e.Content = append(bytes.Clone(content), 24,
				0)
		}), tx.ErrNotCanonical},
		"content of another kind":   {envelope(t, g, func(e *tx.Envelope) { e.Kind = 2 }), tx.ErrMalformed},
		"length beyond the content": {[]byte{0x12, 0xff, 0xff, 0xff, 0xff, 0x0f}, tx.ErrMalformed},
	} {
		_, err := tx.Decode(c.raw)
		require.ErrorIs(t, err, c.want, name)
	}
}

// TestID: "SHA-256 of the kind, as 4 bytes big endian, and the content hash".
func TestID(t *testing.T) {
	restore, remove := sign(t, &tx.Restore{Participant: 4}), sign(t, &tx.Remove{Participant: 4})
	require.Equal(t, restore.Content, remove.Content)
	require.NotEqual(t, restore.ID(), remove.ID())
	require.Equal(t, sha256.Sum256(append([]byte{0, 0, 0, 8}, remove.Content[:]...)), remove.ID())
	again, err := tx.Decode(remove.Raw)
	require.NoError(t, err)
	require.Equal(t, remove.ID(), again.ID())
}

func TestKindString(t *testing.T) {
	require.Equal(t, "gradient", tx.KindGradient.String())
	require.Equal(t, "aggregate", tx.KindAggregate.String())
	require.Equal(t, "kind(99)", tx.Kind(99).String())
}

// FuzzDecode: a decoded transaction is canonical and encodes to the same bytes, and no bytes panic.
func FuzzDecode(f *testing.F) {
	for _, b := range []tx.Body{
		gradient(), aggregate(), &tx.Join{Moniker: "m"}, &tx.Approve{Join: []byte{1}}, &tx.Rotate{Nonce: 2},
		&tx.Restore{Subject: 3}, &tx.Remove{Subject: 3}, &tx.Evidence{Kind: 1}, &tx.StartEpoch{Epoch: 1, Now: true},
		&tx.Withdraw{Proposal: []byte{1}, Revocations: 1},
	} {
		x, err := tx.Sign(chain, b, key)
		require.NoError(f, err)
		f.Add(x.Raw)
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		x, err := tx.Decode(raw)
		if err != nil {
			return
		}
		content, err := x.Body.Marshal()
		require.NoError(t, err)
		var e tx.Envelope
		require.NoError(t, e.Unmarshal(raw))
		require.True(t, bytes.Equal(e.Content, content), "%X, %X", e.Content, content)
		_ = x.Verify(chain, key.Public().(ed25519.PublicKey))
	})
}

// TestKinds: every kind has a message of its name in tx.proto, and KindNone has none. A message
// without a kind cannot be signed.
func TestKinds(t *testing.T) {
	for number := range tx.Kind_name {
		kind := tx.Kind(number)
		body, err := tx.DecodeBody(kind, nil)
		if kind == tx.KindNone {
			require.ErrorIs(t, err, tx.ErrUnknownKind)
			continue
		}
		require.NoError(t, err, kind)
		require.Equal(t, kind, sign(t, body).Kind())
	}
	require.Equal(t, "start-epoch", tx.KindStartEpoch.String())
	_, err := tx.DecodeBody(5, nil)
	require.ErrorIs(t, err, tx.ErrUnknownKind, "Leave, until state machine 3")
	_, err = tx.Sign(chain, &tx.Envelope{}, key)
	require.ErrorIs(t, err, tx.ErrUnknownKind)
}

// TestOnce: a check of the content runs until it succeeds, and then only for another chain.
func TestOnce(t *testing.T) {
	raw := new(tx.Tx)
	ran := 0
	check := func(err error) func(string) error { return func(string) error { ran++; return err } }
	wrong := errors.New("wrong")
	require.ErrorIs(t, raw.CheckOnce("a", check(wrong)), wrong)
	require.NoError(t, raw.CheckOnce("a", check(nil)))
	require.NoError(t, raw.CheckOnce("a", check(wrong)), "it is remembered")
	require.ErrorIs(t, raw.CheckOnce("b", check(wrong)), wrong)
	require.Equal(t, 3, ran)
}

// TestCarried: an approval's Join is decoded once, and no other transaction carries one.
func TestCarried(t *testing.T) {
	join := sign(t, &tx.Join{PubKey: []byte{1}})
	carrier := sign(t, &tx.Approve{Participant: 1, Join: join.Raw})
	carried, err := carrier.CarriedJoin()
	require.NoError(t, err)
	require.Equal(t, join.Hash, carried.Hash)
	again, err := carrier.CarriedJoin()
	require.NoError(t, err)
	require.Same(t, carried, again)
	_, err = sign(t, &tx.Approve{Participant: 1, Join: []byte{1}}).CarriedJoin()
	require.ErrorIs(t, err, tx.ErrMalformed)
	_, err = join.CarriedJoin()
	require.ErrorIs(t, err, tx.ErrMalformed)
}

// TestVerifyVRF: an output is valid only for its key and input, also if it is cached.
func TestVerifyVRF(t *testing.T) {
	pub, input := key.Public().(ed25519.PublicKey), []byte("input")
	x := sign(t, &tx.Gradient{VrfProof: leader.Prove(key, input)})
	_, err := x.VerifyVRF(pub, []byte("another"))
	require.Error(t, err)
	out, err := x.VerifyVRF(pub, input)
	require.NoError(t, err)
	again, err := x.VerifyVRF(pub, input)
	require.NoError(t, err)
	require.Equal(t, out, again)
	_, err = x.VerifyVRF(pub, []byte("another"))
	require.Error(t, err)

	own := sign(t, &tx.Gradient{VrfProof: leader.Prove(key, input)})
	own.Vouch(pub, input)
	vouched, err := own.VerifyVRF(pub, input)
	require.NoError(t, err)
	require.Equal(t, out, vouched)
	none := sign(t, &tx.Gradient{VrfProof: []byte{1}})
	none.Vouch(pub, input)
	_, err = none.VerifyVRF(pub, input)
	require.Error(t, err)
}
