package internal_test

import (
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/abci/home"
	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/app/leader"
	"github.com/spdl/spdl/app/preset"
	"github.com/spdl/spdl/cmd/internal/founding"
)

// person is a member with its keys.
type person struct {
	founding.Member
	who       app.Identity
	consensus ed25519.PrivateKey
	relays    []string
}

// people makes a proposal for a, b and c in a folder, and their keys.
func people(t *testing.T) (folder string, all []person) {
	t.Helper()
	folder = t.TempDir()
	p, err := preset.New(preset.Names()[0], 3)
	require.NoError(t, err)
	proposal := founding.Proposal{ChainID: "ours", AppVersion: app.Version, Members: []string{"a", "b", "c"}, Params: p}
	require.NoError(t, proposal.Check())
	require.NoError(t, founding.Propose(folder, proposal))
	for _, name := range proposal.Members {
		all = append(all, newPerson(t, name))
	}
	return folder, all
}

func newPerson(t *testing.T, name string) person {
	t.Helper()
	keys := home.GenerateKeys()
	consensus := home.GenerateKeys().Signing
	return person{founding.Member{Copies: t.TempDir(), Keys: keys},
		home.Identity(keys, consensus.Public().(ed25519.PublicKey), name), consensus, nil}
}

func open(t *testing.T, folder string) *founding.Founding {
	t.Helper()
	f, err := founding.Open(folder)
	require.NoError(t, err)
	return f
}

func (p person) enter(t *testing.T, folder string) {
	t.Helper()
	_, err := p.Enter(open(t, folder), p.who, p.relays, p.consensus, nil)
	require.NoError(t, err)
}

// upTo takes the steps of all people up to files of a kind.
func upTo(t *testing.T, folder string, all []person, kind founding.Kind) *founding.Founding {
	t.Helper()
	for _, p := range all {
		p.enter(t, folder)
	}
	for _, step := range []founding.Kind{founding.KindShare, founding.KindProof} {
		if kind == founding.KindEntry {
			break
		}
		f := open(t, folder)
		for _, p := range all {
			take := map[founding.Kind]func(*founding.Founding, string) error{founding.KindShare: p.Share,
				founding.KindProof: p.Prove}[step]
			require.NoError(t, take(f, p.who.Moniker))
		}
		if step == kind {
			break
		}
	}
	f := open(t, folder)
	require.Empty(t, f.Faults)
	return f
}

// load reads a file, and store writes one.
func load(t *testing.T, path string, v any) {
	t.Helper()
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(data, v))
}

func store(t *testing.T, path string, v any) {
	t.Helper()
	data, err := json.Marshal(v)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(path, data, 0o600))
}

// change rewrites a file.
func change[T any](t *testing.T, path string, by func(*T)) {
	t.Helper()
	v := new(T)
	load(t, path, v)
	by(v)
	store(t, path, v)
}

// sign signs the proof of a person again.
func (p person) sign(t *testing.T, f *founding.Founding, v *founding.Proof) {
	t.Helper()
	v.Signature = nil
	data, err := json.Marshal(v)
	require.NoError(t, err)
	sum := sha256.Sum256(append(leader.Prefix("spdl/founding-proof/v1", f.Proposal.ChainID), data...))
	v.Signature = ed25519.Sign(p.Keys.Signing, sum[:])
}

// seedOf computes the seed of shares.
func seedOf(t *testing.T, f *founding.Founding, shares ...*founding.Share) app.HexBytes {
	t.Helper()
	h := sha256.New()
	h.Write(leader.Prefix("spdl/founding-seed/v1", f.Proposal.ChainID))
	h.Write(f.Digest)
	for _, s := range shares {
		out, ok := leader.OutputOf(s.VrfProof)
		require.True(t, ok)
		h.Write(out[:])
	}
	return h.Sum(nil)
}

// TestGenesisOfAll: all files make one valid genesis, with the latest time of a proof, and a seed that
// differs between two foundings.
func TestGenesisOfAll(t *testing.T) {
	folder, all := people(t)
	f := upTo(t, folder, all, founding.KindProof)
	latest := f.Proofs[0].Time.Add(30 * time.Second)
	change(t, f.Path("b", founding.KindProof), func(v *founding.Proof) {
		v.Time = latest
		all[1].sign(t, f, v)
	})
	f = open(t, folder)
	require.Empty(t, f.Faults)
	genesis, err := f.Genesis()
	require.NoError(t, err)
	var doc struct {
		Time time.Time `json:"genesis_time"`
		App  struct {
			Seed app.HexBytes `json:"seed"`
		} `json:"app_state"`
	}
	require.NoError(t, json.Unmarshal(genesis, &doc))
	require.Equal(t, latest, doc.Time)
	require.Equal(t, f.Seed, doc.App.Seed)
	again, err := open(t, folder).Genesis()
	require.NoError(t, err)
	require.Equal(t, genesis, again)

	file := filepath.Join(t.TempDir(), "genesis.json")
	begun := func() (string, error) { return "the data have block 7", nil }
	require.NoError(t, founding.Install(file, genesis, begun))
	require.NoError(t, founding.Install(file, genesis, begun))
	require.ErrorContains(t, founding.Install(file, genesis[1:], begun), "is another genesis")
	require.ErrorContains(t, founding.Install(file, genesis[1:], begun), "and the data have block 7: ")
	require.NoError(t, founding.Install(file, genesis[1:], func() (string, error) { return "", nil }))
	installed, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, genesis[1:], installed)

	folder, all = people(t)
	require.NotEqual(t, f.Seed, upTo(t, folder, all, founding.KindShare).Seed)
}

// TestOneShareDecidesTheSeed: nobody knows the seed before the last share, however many the others are.
func TestOneShareDecidesTheSeed(t *testing.T) {
	folder, all := people(t)
	f := upTo(t, folder, all, founding.KindShare)
	theirs := &founding.Founding{Folder: t.TempDir(), Proposal: f.Proposal, Digest: f.Digest, Entries: f.Entries}
	require.NoError(t, newPerson(t, "c").Share(theirs, "c"))
	other := new(founding.Share)
	load(t, theirs.Path("c", founding.KindShare), other)
	require.Equal(t, f.Seed, seedOf(t, f, f.Shares...))
	require.NotEqual(t, f.Seed, seedOf(t, f, f.Shares[0], f.Shares[1], other))
}

// TestFaultsAreNamed: whose file does not hold, and why.
func TestFaultsAreNamed(t *testing.T) {
	for says, c := range map[string]struct {
		kind founding.Kind
		by   func(t *testing.T, f *founding.Founding, all []person)
	}{
		"the file was changed": {founding.KindEntry, func(t *testing.T, f *founding.Founding, _ []person) {
			change(t, f.Path("c", founding.KindEntry), func(e *founding.Entry) { e.Address = "c.example:1" })
		}},
		"the entry is of \"b\"": {founding.KindEntry, func(t *testing.T, f *founding.Founding, _ []person) {
			change(t, f.Path("c", founding.KindEntry), func(e *founding.Entry) { *e = *f.Entries[1] })
		}},
		"the entry is for the proposal 00": {founding.KindEntry, func(t *testing.T, f *founding.Founding, _ []person) {
			change(t, f.Path("c", founding.KindEntry), func(e *founding.Entry) { e.Proposal = []byte{0} })
		}},
		"vrf_possession": {founding.KindEntry, func(t *testing.T, f *founding.Founding, all []person) {
			change(t, f.Path("c", founding.KindEntry), func(e *founding.Entry) { e.VrfKey = all[0].who.VrfKey })
		}},
		"consensus_proof is not a signature": {founding.KindEntry, func(t *testing.T, f *founding.Founding, all []person) {
			change(t, f.Path("c", founding.KindEntry), func(e *founding.Entry) { e.ConsensusKey = all[0].who.ConsensusKey })
		}},
		"the share does not match the commitment": {founding.KindShare, func(t *testing.T, f *founding.Founding, _ []person) {
			change(t, f.Path("c", founding.KindShare), func(s *founding.Share) { s.VrfProof = f.Shares[0].VrfProof })
		}},
		"c has seen another entry of b": {founding.KindShare, func(t *testing.T, f *founding.Founding, all []person) {
			s := founding.Share{Name: "c", Entries: slices.Clone(f.Shares[2].Entries)}
			s.Entries[1] = make([]byte, 32)
			over := sha256.New()
			over.Write(f.Digest)
			for _, entry := range s.Entries {
				over.Write(entry)
			}
			s.VrfProof = leader.Prove(all[2].Keys.VRF,
				over.Sum(leader.Prefix("spdl/founding-share/v1", f.Proposal.ChainID)))
			store(t, f.Path("c", founding.KindShare), s)
		}},
		"the proof is not one with vrf_key": {founding.KindProof, func(t *testing.T, f *founding.Founding, _ []person) {
			change(t, f.Path("c", founding.KindProof), func(v *founding.Proof) { v.VrfProof = f.Proofs[0].VrfProof })
		}},
		"the signature is not one with pub_key": {founding.KindProof, func(t *testing.T, f *founding.Founding, _ []person) {
			change(t, f.Path("c", founding.KindProof), func(v *founding.Proof) { v.Time = v.Time.Add(time.Second) })
		}},
		"ahead of this host's clock": {founding.KindProof, func(t *testing.T, f *founding.Founding, all []person) {
			change(t, f.Path("c", founding.KindProof), func(v *founding.Proof) {
				v.Time = v.Time.Add(time.Hour)
				all[2].sign(t, f, v)
			})
		}},
	} {
		t.Run(says, func(t *testing.T) {
			folder, all := people(t)
			c.by(t, upTo(t, folder, all, c.kind), all)
			f := open(t, folder)
			require.Len(t, f.Faults, 1)
			require.Equal(t, "c", f.Faults[0].Member)
			require.Contains(t, f.Faults[0].Error, says)
			require.Equal(t, []string{"c"}, f.Missing(c.kind))
		})
	}
}

// TestEntryAfterTheShares: a member that has seen shares cannot try other keys. Everybody's share
// then names the entry that was there before.
func TestEntryAfterTheShares(t *testing.T) {
	folder, all := people(t)
	f := upTo(t, folder, all, founding.KindEntry)
	for _, p := range all[:2] {
		require.NoError(t, p.Share(f, p.who.Moniker))
	}
	require.NoError(t, os.Remove(f.Path("c", founding.KindEntry)))
	newPerson(t, "c").enter(t, folder)
	f = open(t, folder)
	require.Len(t, f.Faults, 2)
	for i, name := range []string{"a", "b"} {
		require.Contains(t, f.Faults[i].Error, name+" has seen another entry of c")
	}
	for _, p := range all[:2] { // even where the shares are taken away
		require.NoError(t, os.Remove(f.Path(p.who.Moniker, founding.KindShare)))
		require.NoError(t, p.Share(f, p.who.Moniker))
	}
	require.Len(t, open(t, folder).Faults, 2)
}

// TestEntryIsCorrected: a member makes another entry for the same proposal, which takes the place of the
// former one. Once a share is out, in the folder or in the home, it cannot; and what somebody else has
// sent under its name stays.
func TestEntryIsCorrected(t *testing.T) {
	folder, all := people(t)
	upTo(t, folder, all, founding.KindEntry)
	c := all[2]
	c.who.Address = "c.example.org:26656"
	c.enter(t, folder)
	f := open(t, folder)
	require.Empty(t, f.Faults)
	require.Equal(t, "c.example.org:26656", f.Entries[2].Address)
	_, err := c.Own(f)
	require.NoError(t, err)

	require.NoError(t, all[0].Share(f, "a"))
	c.enter(t, folder) // nothing changes
	right := c.who
	c.who.Address = "d.example.org:26656"
	_, err = c.Enter(f, c.who, nil, c.consensus, nil)
	require.ErrorContains(t, err, "the share of a in "+folder+" is over it")
	require.ErrorContains(t, err, "found again: spdl consortium new")
	require.NoError(t, os.Remove(f.Path("a", founding.KindShare)))
	require.NoError(t, c.Share(f, "c"))
	require.NoError(t, os.Remove(f.Path("c", founding.KindShare)))
	_, err = c.Enter(f, c.who, nil, c.consensus, nil)
	require.ErrorContains(t, err, "the share of this home")
	require.Equal(t, right.Address, open(t, folder).Entries[2].Address)

	folder, all = people(t)
	upTo(t, folder, all, founding.KindEntry)
	f = open(t, folder)
	require.NoError(t, os.Remove(f.Path("c", founding.KindEntry)))
	newPerson(t, "c").enter(t, folder)
	all[2].who.Address = "c.example.org:26656"
	_, err = all[2].Enter(open(t, folder), all[2].who, nil, all[2].consensus, nil)
	require.ErrorContains(t, err, "is not what this home made")
}

// TestOwnFile: somebody else under a member's name is noticed by the member.
func TestOwnFile(t *testing.T) {
	folder, all := people(t)
	f := upTo(t, folder, all, founding.KindEntry)
	require.NoError(t, os.Remove(f.Path("a", founding.KindEntry)))
	_, err := all[0].Own(f)
	require.NoError(t, err)
	require.FileExists(t, f.Path("a", founding.KindEntry), "written again")
	require.NoError(t, os.Remove(f.Path("a", founding.KindEntry)))
	newPerson(t, "a").enter(t, folder)
	_, err = all[0].Own(open(t, folder))
	require.ErrorContains(t, err, "is not what this home made")
	_, err = newPerson(t, "b").Own(f)
	require.ErrorContains(t, err, "this home has joined no founding")
}

// TestRelaysOfEntries: the relays that entries name are those of all members, each once; an entry
// whose relay is none is named.
func TestRelaysOfEntries(t *testing.T) {
	relay := func(i int) string { return fmt.Sprintf("%040x@relay%d.example.org:26656", i, i) }
	folder, all := people(t)
	all[0].relays, all[2].relays = []string{relay(1), relay(2)}, []string{relay(2), relay(3)}
	f := upTo(t, folder, all, founding.KindProof)
	require.Equal(t, []string{relay(1), relay(2), relay(3)}, f.Relays())

	folder, all = people(t)
	require.Empty(t, upTo(t, folder, all, founding.KindEntry).Relays())
	var seventeen []string // one more than an entry takes
	for i := range 17 {
		seventeen = append(seventeen, relay(i))
	}
	for _, bad := range [][]string{{"relay.example.org:26656"}, {relay(1) + "," + relay(2)}, seventeen} {
		folder, all = people(t)
		all[1].relays = bad
		all[1].enter(t, folder)
		f := open(t, folder)
		require.Len(t, f.Faults, 1)
		require.Equal(t, "b", f.Faults[0].Member)
		require.Contains(t, f.Faults[0].Error, "relays")
	}
}
