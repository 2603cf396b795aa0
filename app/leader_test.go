package app_test

import (
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/app/leader"
	"github.com/spdl/spdl/internal/stage"
)

const chain = "leader-test"

func key(i int) ed25519.PrivateKey {
	seed := sha256.Sum256(fmt.Appendf(nil, "leader test key %d", i))
	return ed25519.NewKeyFromSeed(seed[:])
}

func public(i int) []byte { return key(i).Public().(ed25519.PublicKey) }

func unhex(t *testing.T, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(s)
	require.NoError(t, err)
	return b
}

// TestRFC9381 compares Prove and Verify with RFC 9381, appendix B.4
// (ECVRF-EDWARDS25519-SHA512-ELL2), Examples 19 to 21.
func TestRFC9381(t *testing.T) {
	for _, v := range []struct{ sk, pk, alpha, pi, beta string }{
		{
			"9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60",
			"d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a",
			"",
			"7d9c633ffeee27349264cf5c667579fc583b4bda63ab71d001f89c10003ab46f14adf9a3cd8b8412d9038531e865c341cafa73589b02" +
				"3d14311c331a9ad15ff2fb37831e00f0acaa6d73bc9997b06501",
			"9d574bf9b8302ec0fc1e21c3ec5368269527b87b462ce36dab2d14ccf80c53cccf6758f058c5b1c856b116388152bbe509ee3b9ecfe6" +
				"3d93c3b4346c1fbc6c54",
		},
		{
			"4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb",
			"3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c",
			"72",
			"47b327393ff2dd81336f8a2ef10339112401253b3c714eeda879f12c509072ef055b48372bb82efbdce8e10c8cb9a2f9d60e93908f93" +
				"df1623ad78a86a028d6bc064dbfc75a6a57379ef855dc6733801",
			"38561d6b77b71d30eb97a062168ae12b667ce5c28caccdf76bc88e093e4635987cd96814ce55b4689b3dd2947f80e59aac7b7675f808" +
				"3865b46c89b2ce9cc735",
		},
		{
			"c5aa8df43f9f837bedb7442f31dcb7b166d38535076f094b85ce3a2e0b4458f7",
			"fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025",
			"af82",
			"926e895d308f5e328e7aa159c06eddbe56d06846abf5d98c2512235eaa57fdce35b46edfc655bc828d44ad09d1150f31374e7ef73027" +
				"e14760d42e77341fe05467bb286cc2c9d7fde29120a0b2320d04",
			"121b7f9b9aaaa29099fc04a94ba52784d44eac976dd1a3cca458733be5cd090a7b5fbd148444f17f8daf1fb55cb04b1ae85a626e30a5" +
				"4b4b0f8abf4a43314a58",
		},
	} {
		sk := ed25519.NewKeyFromSeed(unhex(t, v.sk))
		pi := leader.Prove(sk, unhex(t, v.alpha))
		require.Equal(t, v.pi, hex.EncodeToString(pi))
		beta, err := leader.Verify(unhex(t, v.pk), unhex(t, v.alpha), pi)
		require.NoError(t, err)
		require.Equal(t, v.beta, hex.EncodeToString(beta[:]))
	}
}

func TestVerifyRefusesForgeries(t *testing.T) {
	input := leader.Input(chain, 0, 7, make([]byte, 32))
	proof := leader.Prove(key(0), input)
	_, err := leader.Verify(public(0), input, proof)
	require.NoError(t, err)
	for name, forged := range map[string]func() ([]byte, []byte, []byte){
		"another key": func() ([]byte, []byte, []byte) { return public(1), input, proof },
		"another round": func() ([]byte, []byte, []byte) {
			return public(0), leader.Input(chain, 0, 8, make([]byte, 32)),
				proof
		},
		"another epoch": func() ([]byte, []byte, []byte) {
			return public(0), leader.Input(chain, 1, 7, make([]byte, 32)),
				proof
		},
		"another chain": func() ([]byte, []byte, []byte) {
			return public(0), leader.Input("other", 0, 7, make([]byte, 32)), proof
		},
		"another seed": func() ([]byte, []byte, []byte) {
			return public(0), leader.Input(chain, 0, 7, append(make([]byte, 31), 1)), proof
		},
		"another's proof": func() ([]byte, []byte, []byte) { return public(0), input, leader.Prove(key(1), input) },
		"short proof":     func() ([]byte, []byte, []byte) { return public(0), input, proof[:79] },
		"no proof":        func() ([]byte, []byte, []byte) { return public(0), input, nil },
		"short key":       func() ([]byte, []byte, []byte) { return public(0)[:31], input, proof },
		"no key":          func() ([]byte, []byte, []byte) { return make([]byte, 32), input, proof },
	} {
		k, in, pi := forged()
		_, err := leader.Verify(k, in, pi)
		require.Error(t, err, name)
	}
	// A proof with any bit changed is not valid.
	for bit := range 8 * leader.ProofSize {
		forged := append([]byte(nil), proof...)
		forged[bit/8] ^= 1 << (bit % 8)
		_, err := leader.Verify(public(0), input, forged)
		require.ErrorIs(t, err, leader.ErrProof, "bit %d", bit)
	}
}

// TestOutputOf: OutputOf returns the output that Verify returns, and nothing for bytes that are no
// proof.
func TestOutputOf(t *testing.T) {
	input := leader.Input(chain, 0, 7, make([]byte, 32))
	proof := leader.Prove(key(0), input)
	want, err := leader.Verify(public(0), input, proof)
	require.NoError(t, err)
	got, ok := leader.OutputOf(proof)
	require.True(t, ok)
	require.Equal(t, want, got)
	for _, none := range [][]byte{nil, proof[:leader.ProofSize-1], append(proof[:leader.ProofSize:leader.ProofSize], 0)} {
		_, ok := leader.OutputOf(none)
		require.False(t, ok, "%d bytes", len(none))
	}
}

// TestPossession: a proof of possession of a key is valid only for one chain and one signing key,
// and is not valid as a proof for a round.
func TestPossession(t *testing.T) {
	input := leader.PossessionInput(chain, public(1))
	proof := leader.Prove(key(0), input)
	_, err := leader.Verify(public(0), input, proof)
	require.NoError(t, err)
	for name, other := range map[string][]byte{
		"another chain":       leader.PossessionInput("other", public(1)),
		"another signing key": leader.PossessionInput(chain, public(2)),
		"a round":             leader.Input(chain, 0, 0, public(1)),
		"a boundary moved":    leader.PossessionInput(chain+string(public(1)[:1]), public(1)[1:]),
	} {
		_, err := leader.Verify(public(0), other, proof)
		require.ErrorIs(t, err, leader.ErrProof, name)
	}
}

func TestCheckKey(t *testing.T) {
	require.NoError(t, leader.CheckKey(public(0)))
	for name, bad := range map[string][]byte{
		"short":         public(0)[:31],
		"identity":      append([]byte{1}, make([]byte, 31)...),
		"order 2":       unhex(t, "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f"),
		"order 8":       unhex(t, "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05"),
		"not canonical": unhex(t, "eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f"),
		"off the curve": append([]byte{2}, make([]byte, 31)...),
		"torsion":       withTorsion(t, public(0)),
	} {
		require.ErrorIs(t, leader.CheckKey(bad), leader.ErrKey, name)
	}
}

func TestRankOrdersByOutput(t *testing.T) {
	contenders := []leader.Contender{{Participant: 0, Output: leader.Output{1}},
		{Participant: 1, Output: leader.Output{3}}, {Participant: 2, Output: leader.Output{2}}}
	ranking, tie := leader.Rank(contenders)
	require.Equal(t, []uint32{1, 2, 0}, ranking)
	require.False(t, tie)
	contenders[2].Output = leader.Output{3}
	ranking, tie = leader.Rank(contenders)
	require.True(t, tie, "two largest: the election is held again")
	require.Equal(t, []uint32{1, 2, 0}, ranking)
	ranking, tie = leader.Rank(nil)
	require.Empty(t, ranking)
	require.False(t, tie)
	require.NotEqual(t, leader.NextSeed(make([]byte, 32), nil), make([]byte, 32), "the seed moves on without a contender")
	require.NotEqual(t, leader.NextSeed(make([]byte, 32), nil), leader.NextSeed(make([]byte, 32), contenders))
}

// TestElectionIsFair: in 10,000 elections among 10 keys, each over the seed from the previous
// election, every participant leads 10 % of the time, within the 99 % band of the binomial for the
// ten together: 3.29 standard deviations each (Bonferroni). The keys and the first seed are fixed,
// so the test always passes or always fails; with 100 other seeds about one would fail.
func TestElectionIsFair(t *testing.T) {
	const n = 10
	elections := stage.Pick[uint64](100, 1000, 10_000)
	led := make([]int, n)
	seed := make([]byte, 32)
	for round := range elections {
		contenders := make([]leader.Contender, n)
		input := leader.Input(chain, 0, round, seed)
		var wg sync.WaitGroup
		for half := range 2 {
			wg.Go(func() {
				for i := half; i < n; i += 2 {
					proof := leader.Prove(key(i), input)
					out, err := leader.Verify(public(i), input, proof)
					if err != nil {
						panic(err)
					}
					contenders[i] = leader.Contender{Participant: uint32(i), Output: out}
				}
			})
		}
		wg.Wait()
		ranking, tie := leader.Rank(contenders)
		require.False(t, tie)
		led[ranking[0]]++
		seed = leader.NextSeed(seed, contenders)
	}
	t.Log("led:", led)
	band := 3.29 * math.Sqrt(float64(elections)*0.1*0.9)
	for i, count := range led {
		require.InDelta(t, float64(elections)/n, count, band, "participant %d", i)
	}
}

func BenchmarkVerify(b *testing.B) {
	input := leader.Input(chain, 0, 7, make([]byte, 32))
	proof := leader.Prove(key(0), input)
	for b.Loop() {
		if _, err := leader.Verify(public(0), input, proof); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkProve(b *testing.B) {
	input := leader.Input(chain, 0, 7, make([]byte, 32))
	for b.Loop() {
		leader.Prove(key(0), input)
	}
}
