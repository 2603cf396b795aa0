package app

import (
	"encoding/binary"
	"fmt"
	"math"
	"strconv"
)

// chunkSize is the number of parameters in one leaf of the tree over a model.
const chunkSize = 4096

// EncodeParameters returns the bytes of parameters: IEEE 754 in little endian, 8 bytes each.
func EncodeParameters(x []float64) []byte {
	out := make([]byte, 8*len(x))
	putParameters(out, x)
	return out
}

func putParameters(dst []byte, x []float64) {
	for i, v := range x {
		binary.LittleEndian.PutUint64(dst[8*i:8*i+8], math.Float64bits(v))
	}
}

// DecodeParameters is the inverse of EncodeParameters. It fails if the length of data is not a multiple of 8.
func DecodeParameters(data []byte) ([]float64, error) {
	if len(data)%8 != 0 {
		return nil, fmt.Errorf("parameters: %d bytes are no multiple of 8", len(data))
	}
	x := make([]float64, len(data)/8)
	for i := range x {
		x[i] = math.Float64frombits(binary.LittleEndian.Uint64(data[8*i:]))
	}
	return x, nil
}

// ModelHash returns the root of the Merkle tree over the parameters. Each leaf has 4096 parameters,
// the last leaf the rest.
func ModelHash(x []float64) [32]byte {
	var tree frontier
	chunk := make([]byte, 8*min(chunkSize, len(x)))
	for i := 0; len(x) > 0; i++ {
		n := min(chunkSize, len(x))
		putParameters(chunk, x[:n])
		tree.push(Pair{strconv.Itoa(i), chunk[:8*n]}.Leaf())
		x = x[n:]
	}
	return tree.root()
}

// Chunks cuts encoded parameters into the leaves of the tree of ModelHash: 32768 bytes each, the last leaf the rest.
func Chunks(data []byte) (chunks [][]byte) {
	for len(data) > 0 {
		n := min(8*chunkSize, len(data))
		chunks = append(chunks, data[:n])
		data = data[n:]
	}
	return chunks
}
