package leader

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"slices"
)

// Draw is one contender's ticket in an election.
type Draw struct {
	Participant uint32
	Output      [32]byte // h, compared as a big-endian number
}

// HashDraw is the draw of a participant in the election of a round over seed.
func HashDraw(seed []byte, round uint64, participant uint32) Draw {
	h := sha256.New()
	h.Write([]byte("spdl/draw/v1"))
	h.Write(seed)
	h.Write(binary.BigEndian.AppendUint64(nil, round))
	h.Write(binary.BigEndian.AppendUint32(nil, participant))
	d := Draw{Participant: participant}
	h.Sum(d.Output[:0])
	return d
}

// Rank orders the contenders by decreasing output, the leader first. A tie
// for the lead is reported: the paper holds the election again, with
// NextSeed. Equal outputs further down are ordered by participant.
func Rank(draws []Draw) (ranking []uint32, tie bool) {
	sorted := slices.Clone(draws)
	slices.SortFunc(sorted, func(a, b Draw) int {
		if c := bytes.Compare(b.Output[:], a.Output[:]); c != 0 {
			return c
		}
		return int(a.Participant) - int(b.Participant)
	})
	ranking = make([]uint32, len(sorted))
	for i, d := range sorted {
		ranking[i] = d.Participant
	}
	return ranking, len(sorted) > 1 && sorted[0].Output == sorted[1].Output
}

// NextSeed is the seed after an election that largest won: SHA-256(seed, largest).
func NextSeed(seed []byte, largest [32]byte) []byte {
	h := sha256.New()
	h.Write(seed)
	h.Write(largest[:])
	return h.Sum(nil)
}

// Elect holds the elections of one term among the contenders, again with the
// next seed after a tie for the lead, and returns the ranking and the next
// term's seed. No contender gives an empty ranking and moves the seed on.
func Elect(seed []byte, round uint64, contenders []uint32) (ranking []uint32, next []byte) {
	for {
		draws := make([]Draw, len(contenders))
		var largest [32]byte
		for i, p := range contenders {
			draws[i] = HashDraw(seed, round, p)
			if bytes.Compare(draws[i].Output[:], largest[:]) > 0 {
				largest = draws[i].Output
			}
		}
		ranking, tie := Rank(draws)
		seed = NextSeed(seed, largest)
		if !tie {
			return ranking, seed
		}
	}
}
