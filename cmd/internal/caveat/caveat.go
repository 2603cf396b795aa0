// Package caveat has the texts that must accompany an epsilon whose guarantee is weaker than it looks.
package caveat

import "fmt"

// TestChain accompanies every epsilon of a test chain.
const TestChain = "TEST CHAIN ONLY: noise may be known, nothing is private"

// TrainerClips accompanies every epsilon that depends on the participants' own programs.
const TrainerClips = "clipped by the trainer: epsilon holds if each participant's trainer clips as it should"

// EndedEarly accompanies the end of an epoch before its last round.
const EndedEarly = "ended early: fewer than N-f participants have budget left for a round"

// Groups accompanies every epsilon whose unit is a group.
const Groups = "unit of privacy: a group, all its examples added or removed together"

// Lemma1 returns the text that accompanies every epsilon of noise that follows the paper's Lemma 1.
func Lemma1(claim float64) string {
	return fmt.Sprintf("LEMMA 1 of the paper claims epsilon %g of all rounds with this noise: NO GUARANTEE, what holds "+
		"is the accountant's epsilon", claim)
}
