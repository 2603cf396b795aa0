package mnist_test

import (
	"encoding/binary"
	"math"
	"os"
	"testing"

	"github.com/stretchr/testify/require"
)

// grid is the value of a map at row y and column x.
type grid func(y, x int) float64

// within returns a grid of n x n values, computed once, and 0 outside.
func within(n int, g grid) grid {
	v := make([]float64, n*n)
	for i := range v {
		v[i] = g(i/n, i%n)
	}
	return func(y, x int) float64 {
		if y < 0 || x < 0 || y >= n || x >= n {
			return 0
		}
		return v[y*n+x]
	}
}

// oriented is step 1 of the package comment, by its formula.
func oriented(n int, image grid, k int, signed bool) grid {
	return within(n, func(y, x int) float64 {
		gx, gy := image(y, x+1)-image(y, x-1), image(y+1, x)-image(y-1, x)
		t := float64(k) * math.Pi / 4
		s := gx*math.Cos(t) + gy*math.Sin(t)
		if !signed {
			s = math.Abs(s)
		}
		return max(0, s-math.Hypot(gx, gy)*math.Cos(math.Pi/4))
	})
}

// pooled is step 2.
func pooled(n int, h grid) (out []float64) {
	s := float64(n) / 4
	triangle := func(i, y int) float64 {
		return max(0, 1-math.Abs(float64(y)-(s*float64(i)+(s-1)/2))/s)
	}
	var sums [4]float64
	for i := range sums {
		for y := range n {
			sums[i] += triangle(i, y)
		}
	}
	weight := func(i, y int) float64 { return triangle(i, y) / sums[i] }
	for i := range 4 {
		for j := range 4 {
			cell := 0.0
			for y := range n {
				for x := range n {
					cell += weight(i, y) * weight(j, x) * h(y, x)
				}
			}
			out = append(out, cell)
		}
	}
	return out
}

// halved takes 2x2 means.
func halved(n int, g grid) grid {
	return within(n/2, func(y, x int) float64 {
		return (g(2*y, 2*x) + g(2*y, 2*x+1) + g(2*y+1, 2*x) + g(2*y+1, 2*x+1)) / 4
	})
}

// referenceBlocks is steps 1 to 3: blocks a, b and u, before their powers.
func referenceBlocks(side int, pixels []uint8) [3][]float64 {
	n := side + side%2
	image := within(n, func(y, x int) float64 {
		if y >= side || x >= side {
			return 0
		}
		return float64(pixels[y*side+x]) / 255
	})
	smooth := func(y, x int) float64 {
		sum := 0.0
		for dy := -1; dy <= 1; dy++ {
			for dx := -1; dx <= 1; dx++ {
				sum += float64((2-dy*dy)*(2-dx*dx)) / 16 * image(y+dy, x+dx)
			}
		}
		return sum
	}
	small := halved(n, smooth)
	var blocks [3][]float64
	for k := range 8 {
		blocks[0] = append(blocks[0], pooled(n, oriented(n, image, k, true))...)
		blocks[1] = append(blocks[1], pooled(n/2, oriented(n/2, small, k, true))...)
	}
	for k := range 4 {
		energy := halved(n, oriented(n, image, k, false))
		for l := range 4 {
			blocks[2] = append(blocks[2], pooled(n/2, oriented(n/2, energy, l, false))...)
		}
	}
	return blocks
}

// referenceBlock is step 4.
func referenceBlock(side int, pixels []uint8) (r []float64) {
	for _, block := range referenceBlocks(side, pixels) {
		square := 0.0
		for i, v := range block {
			block[i] = math.Pow(v, 0.35)
			square += block[i] * block[i]
		}
		for _, v := range block {
			r = append(r, v/(math.Sqrt(square)+1e-6))
		}
	}
	return r
}

// referenceRow is step 5, with the constants read from their file.
func referenceRow(t *testing.T, r []float64) []float64 {
	t.Helper()
	file, err := os.ReadFile("features/constants.bin")
	require.NoError(t, err)
	require.Len(t, file, 4*512+4+160*512)
	number := func(i int) float64 { return float64(math.Float32frombits(binary.LittleEndian.Uint32(file[4*i:]))) }
	x, square := make([]float64, 160), 0.0
	for j := range x {
		for i, v := range r {
			x[j] += (v - number(i)) * number(512) * float64(int8(file[4*513+512*j+i]))
		}
		square += x[j] * x[j]
	}
	for j := range x {
		x[j] *= 3 / (math.Sqrt(square) + 1e-6)
	}
	return x
}
