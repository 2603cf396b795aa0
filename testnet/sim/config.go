package sim

import (
	"crypto/ed25519"
	"crypto/sha256"
	"fmt"
	"math/rand/v2"

	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/app/params"
	"github.com/spdl/spdl/app/tx"
	"github.com/spdl/spdl/app/worker"
	"github.com/spdl/spdl/gradients"
)

// ChainID is the simulated chains' id.
const ChainID = "spdl-sim"

// Config describes a chain.
type Config struct {
	// Nodes is the number of nodes at the start, each a validator and a participant.
	Nodes  int
	Params params.Params
	Seed   uint64
	// Vector returns a participant's gradient for the open round of a state. A zero Vector means
	// that the participant sends nothing. If Vector is nil, each gradient of a net is a slope that all
	// participants share plus noise, in integers.
	Vector func(node int, s *app.State) gradients.Vector
	// Lead changes the aggregate that a leader is about to sign in an open round. Only Single calls
	// it. If Lead is nil, leaders are honest.
	Lead func(s *app.State, a *tx.Aggregate) error
	// Delay returns the number of steps that a message of a net takes from one node to another. With 0 it arrives at once,
	// with a negative number it is lost. If Delay is nil, all messages arrive at once.
	Delay func(from, to int, r *rand.Rand) int
}

// seed32 derives 32 bytes from a seed and names.
func seed32(seed uint64, names ...any) []byte {
	sum := sha256.Sum256(fmt.Appendf(nil, "spdl sim %d %v", seed, names))
	return sum[:]
}

// keys returns the keys of a participant, after a number of rotations.
func (c Config) keys(i, generation int) worker.Keys {
	return worker.Keys{
		Signing: ed25519.NewKeyFromSeed(seed32(c.Seed, "sign", i, generation)),
		VRF:     ed25519.NewKeyFromSeed(seed32(c.Seed, "vrf", i, generation)),
	}
}

// validator returns the key of a participant's validator.
func (c Config) validator(i int) ed25519.PrivateKey {
	return ed25519.NewKeyFromSeed(seed32(c.Seed, "consensus", i))
}

// identity returns the public side of a participant with some keys.
func (c Config) identity(i int, keys worker.Keys) app.Identity {
	return app.Identity{
		PubKey: keys.Public(), VrfKey: keys.VRF.Public().(ed25519.PublicKey),
		ConsensusKey: c.validator(i).Public().(ed25519.PublicKey), Moniker: fmt.Sprintf("node%d", i),
	}
}

// genesis returns the chain's genesis.
func (c Config) genesis() app.Genesis {
	g := app.Genesis{Params: c.Params, Seed: seed32(c.Seed, "genesis")}
	for i := range c.Nodes {
		keys := c.keys(i, 0)
		p := app.NewParticipant(uint32(i), c.identity(i, keys), c.Params.Reputation)
		p.VrfProof = app.ProveGenesis(ChainID, g.Seed, keys.VRF)
		g.Participants = append(g.Participants, p)
	}
	return g
}
