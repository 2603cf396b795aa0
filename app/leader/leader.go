package leader

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"slices"
)

// Contender is a participant that contends for the lead, with the participant's verified VRF output.
type Contender struct {
	Participant uint32
	Output      Output
}

// Rank returns the participants of the contenders by decreasing output, so that the first is the
// leader. Participants with equal outputs are in increasing order. tie reports whether the two
// largest outputs are equal: the paper then repeats the election with the seed of NextSeed.
func Rank(contenders []Contender) (ranking []uint32, tie bool) {
	sorted := slices.Clone(contenders)
	slices.SortFunc(sorted, func(a, b Contender) int {
		if c := bytes.Compare(b.Output[:], a.Output[:]); c != 0 {
			return c
		}
		return cmp.Compare(a.Participant, b.Participant)
	})
	ranking = make([]uint32, len(sorted))
	for i, c := range sorted {
		ranking[i] = c.Participant
	}
	return ranking, len(sorted) > 1 && sorted[0].Output == sorted[1].Output
}

// NextSeed returns the seed of the next round: SHA-256(seed, largest output of the contenders).
// Without contenders, an output of zeros is hashed.
func NextSeed(seed []byte, contenders []Contender) []byte {
	var largest Output
	for _, c := range contenders {
		if bytes.Compare(c.Output[:], largest[:]) > 0 {
			largest = c.Output
		}
	}
	h := sha256.New()
	h.Write(seed)
	h.Write(largest[:])
	return h.Sum(nil)
}
