//go:build (amd64 || arm64) && !noasm

package rules

import (
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
)

// Lanes may hold what no coordinate is, such as -128: the kernels order and add up all values.
func TestKernelsOrderAndAddAllBytes(t *testing.T) {
	if !haveKernels {
		t.Skip("no kernels in this CPU")
	}
	for shift := range 256 {
		both := make([]int8, 2*256)
		for x := range 256 {
			lane := x%stripBytes + 2*stripBytes*(x/stripBytes)
			both[lane], both[lane+stripBytes] = int8(x), int8(x+shift)
		}
		for at := 0; at < len(both); at += 2 * stripBytes {
			pair := both[at : at+2*stripBytes]
			x, y := append([]int8(nil), pair[:stripBytes]...), append([]int8(nil), pair[stripBytes:]...)
			var num [stripBytes]int64
			sum8(&num[0], unsafe.Pointer(&pair[0]), 2)
			exchange8(unsafe.Pointer(&pair[0]), &[]uint32{0, stripBytes}[0], 1)
			for k := range x {
				require.Equal(t, min(x[k], y[k]), pair[k])
				require.Equal(t, max(x[k], y[k]), pair[stripBytes+k])
				require.Equal(t, int64(x[k])+int64(y[k]), num[k])
			}
		}
	}
	least := make([]int8, narrowSum*stripBytes)
	for i := range least {
		least[i] = -128
	}
	var num [stripBytes]int64
	sum8(&num[0], unsafe.Pointer(&least[0]), narrowSum)
	require.Equal(t, int64(-128*narrowSum), num[7])
}
