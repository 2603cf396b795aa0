package gradients

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestVector(t *testing.T) {
	for _, w := range []Width{Int8, Int16} {
		v := NewVector(w, 3)
		v.Set(0, w.Max())
		v.Set(2, -w.Max())
		require.Equal(t, w, v.Width())
		require.Equal(t, 3, v.Len())
		require.Equal(t, []int64{w.Max(), 0, -w.Max()}, []int64{v.At(0), v.At(1), v.At(2)})
		require.Equal(t, 2*w.Max()*w.Max(), v.SquaredNorm())
		require.Panics(t, func() { v.Set(0, w.Max()+1) })
		require.Panics(t, func() { v.Set(0, -w.Max()-1) })
		require.Panics(t, func() { v.Set(3, 0) })
		require.Panics(t, func() { v.At(3) })

		o := NewVector(w, 3)
		require.False(t, v.Equal(o))
		o.Set(0, w.Max())
		o.Set(2, -w.Max())
		require.True(t, v.Equal(o))
	}
	require.False(t, NewVector(Int8, 0).Equal(NewVector(Int16, 0)))
	require.Equal(t, 0, Vector{}.Len())
}

func TestWrappedSlices(t *testing.T) {
	require.Equal(t, []int8{1, -127}, FromInt8([]int8{1, -127}).Int8s())
	require.Equal(t, []int16{1, -16383}, FromInt16([]int16{1, -16383}).Int16s())
	require.Nil(t, FromInt8([]int8{1}).Int16s())
	require.Panics(t, func() { FromInt8([]int8{0, -128}) })
	require.Panics(t, func() { FromInt16([]int16{-16384}) })
	require.Panics(t, func() { FromInt16([]int16{16384}) })
	require.Panics(t, func() { FromInt8(make([]int8, MaxDim+1)) })
	require.Panics(t, func() { FromInt16(make([]int16, MaxDim+1)) })
	require.Panics(t, func() { NewVector(Int8, -1) })
	require.Panics(t, func() { NewVector(Int8, MaxDim+1) })
	require.Panics(t, func() { NewVector(3, 1) })
}

func TestWidth(t *testing.T) {
	require.True(t, Int8.Valid() && Int16.Valid())
	require.False(t, Width(0).Valid() || Width(3).Valid() || Width(4).Valid())
	require.Equal(t, "int8 int16 Width(4)", Int8.String()+" "+Int16.String()+" "+Width(4).String())
	require.Panics(t, func() { Width(0).Max() })
	// The bound that every proof of doc.go starts from.
	m := Int16.Max()
	require.Less(t, 2*m, int64(1)<<15)
	require.Less(t, 2*(2*m)*(2*m), int64(1)<<31)
	require.Less(t, 4*(2*m)*(2*m), int64(1)<<32)
}

func TestDotAndDistanceOnExtremes(t *testing.T) {
	for _, at := range adversarial {
		for _, w := range []Width{Int8, Int16} {
			for _, d := range []int{0, 1, 3, 4, 5, 100} {
				vs := fill(w, 3, d, at)
				for _, v := range vs {
					require.Equal(t, refDot(vs[0], v).Int64(), Dot(vs[0], v))
					require.Equal(t, refSquaredDistance(vs[0], v).Int64(), SquaredDistance(vs[0], v))
				}
			}
		}
	}
	require.Panics(t, func() { Dot(NewVector(Int8, 1), NewVector(Int8, 2)) })
	require.Panics(t, func() { SquaredDistance(NewVector(Int8, 1), NewVector(Int16, 1)) })
}
