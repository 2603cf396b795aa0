// Command recipe makes constants.bin, the public constants of mnist/features, from synthetic strokes and from no
// data: glyphs, their block features, and the eigenproblem that the comment of mnist/features states. The strokes are
// the same to the bit on every machine. Numbers computed from them may differ in the rounding of float64 arithmetic;
// the tests say by how much. Run it by
//
//	go generate ./mnist/features
package main

import (
	"encoding/binary"
	"fmt"
	"math"
	"os"

	"gonum.org/v1/gonum/mat"

	"github.com/spdl/spdl/mnist/features"
)

// glyphs is the number of glyphs from which the constants are made.
const glyphs = 4000

func main() {
	if err := generate("constants.bin"); err != nil {
		fmt.Fprintln(os.Stderr, "recipe:", err)
		os.Exit(1)
	}
}

func generate(path string) error {
	r, err := sample(glyphs)
	if err != nil {
		return err
	}
	mean, transposed, err := fit(r, features.Inputs)
	if err != nil {
		return err
	}
	return os.WriteFile(path, encode(mean, transposed), 0o644)
}

// encode returns the constants in the form that mnist/features embeds: M is rounded to multiples of
// the scale that gives its entry of largest magnitude 127.
func encode(mean []float64, transposed *mat.Dense) []byte {
	var out []byte
	for _, v := range mean {
		out = binary.LittleEndian.AppendUint32(out, math.Float32bits(float32(v)))
	}
	scale := float32(max(mat.Max(transposed), -mat.Min(transposed)) / math.MaxInt8)
	out = binary.LittleEndian.AppendUint32(out, math.Float32bits(scale))
	for _, v := range transposed.RawMatrix().Data {
		out = append(out, byte(int8(math.Round(v/float64(scale)))))
	}
	return out
}
