// Command generate writes constants.bin, the public constants of the feature map, by the recipe. Run it by
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
	"github.com/spdl/spdl/testnet/experiment/recipe"
)

func main() {
	if err := generate("constants.bin"); err != nil {
		fmt.Fprintln(os.Stderr, "generate:", err)
		os.Exit(1)
	}
}

func generate(path string) error {
	r, err := recipe.Sample(recipe.Glyphs)
	if err != nil {
		return err
	}
	mean, transposed, err := recipe.Fit(r, features.Inputs)
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
