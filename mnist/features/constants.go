package features

import (
	"crypto/sha256"
	_ "embed"
	"encoding/binary"
	"fmt"
	"math"
	"sync"
)

// Name is the name of the feature map, as model parameters give it.
const Name = "strokes"

// version is the version of the recipe in the package comment. Every change of the recipe raises it.
const version = 1

// The public constants as internal/generate writes them, little endian: the mean mu as Blocks float32 values, the scale
// of M's entries as float32, and M as int8 column after column, Inputs columns of Blocks entries.
//
//go:embed constants.bin
var encoded []byte

// constantsSize is the length of constants.bin in bytes.
const constantsSize = 4*Blocks + 4 + Inputs*Blocks

// constants are mu and M.
type constants struct {
	mean    [Blocks]float32
	columns []float32 // of M, column after column
}

// column returns column j of M.
func (c *constants) column(j int) []float32 { return c.columns[j*Blocks : (j+1)*Blocks] }

var public = sync.OnceValue(func() *constants {
	if len(encoded) != constantsSize {
		panic(fmt.Sprintf("features: constants of %d bytes, want %d", len(encoded), constantsSize))
	}
	c := &constants{columns: make([]float32, Inputs*Blocks)}
	number := func(i int) float32 { return math.Float32frombits(binary.LittleEndian.Uint32(encoded[4*i:])) }
	for i := range c.mean {
		c.mean[i] = number(i)
	}
	scale := number(Blocks)
	for i, entry := range encoded[4*Blocks+4:] {
		c.columns[i] = scale * float32(int8(entry))
	}
	return c
})

// Hash names the map: the SHA-256 of its name, the version of its recipe and the public constants.
// Maps of equal hash compute the same features, except for the rounding of float32 arithmetic.
var Hash = sync.OnceValue(func() [sha256.Size]byte {
	return sha256.Sum256(append(fmt.Appendf(nil, "spdl/features/%s/v%d\n", Name, version), encoded...))
})
