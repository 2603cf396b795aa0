// Package caveat has what must stand beside an epsilon that is less than it seems.
package caveat

import "fmt"

// TestChain stands beside every epsilon of a test chain.
const TestChain = "TEST CHAIN ONLY: noise may be known, nothing is private"

// TrainerClips stands beside every epsilon that rests on the participants' own programs.
const TrainerClips = "clipped by the trainer: epsilon holds if each participant's trainer clips as it should"

// Groups stands beside every epsilon whose unit is a group.
const Groups = "unit of privacy: a group, all its examples added or removed together"

// Lemma1 returns the text beside every epsilon of noise that follows the paper's Lemma 1.
func Lemma1(claim float64) string {
	return fmt.Sprintf("LEMMA 1 of the paper claims epsilon %g of all rounds with this noise: NO GUARANTEE, what holds "+
		"is the accountant's epsilon", claim)
}
