package features

import "math"

// cells is the number of pooling cells along each side.
const cells = 4

// window is the part of one row, or column, in the pooling: its weights in cells first and first+1.
// Its weights in other cells are 0.
type window struct {
	first   int
	weights [2]float32
}

// newWindows returns the windows of a side of n. The triangles max(0, 1-|y-c_i|/s), with s = n/4
// and c_i = s i + (s-1)/2, stand s apart and are 2s wide, so that no place lies in more than two.
// Each is divided by its sum over the places.
func newWindows(n int) []window {
	s := float64(n) / cells
	triangle := func(y, i int) float64 {
		return max(0, 1-math.Abs(float64(y)-s*float64(i)-(s-1)/2)/s)
	}
	var sums [cells]float64
	for i := range sums {
		for y := range n {
			sums[i] += triangle(y, i)
		}
	}
	windows := make([]window, n)
	for y := range windows {
		i := min(max(0, int(math.Floor((float64(y)-(s-1)/2)/s))), cells-2)
		windows[y] = window{i, [2]float32{float32(triangle(y, i) / sums[i]), float32(triangle(y, i+1) / sums[i+1])}}
	}
	return windows
}

// pool adds responses to the cells of their channels: dst[(channel*4+i)*4+j]. The number of
// channels is 8, or 4 if opposite directions count as one.
func pool(dst []float32, responses []response, windows []window, channels int) {
	for i := range responses {
		r := &responses[i]
		wy, wx := &windows[r.y], &windows[r.x]
		for k, value := range r.values {
			channel := (r.first + k) & (channels - 1)
			cell := dst[(channel*cells+wy.first)*cells+wx.first:][:cells+2]
			upper, lower := wy.weights[0]*value, wy.weights[1]*value
			cell[0] += upper * wx.weights[0]
			cell[1] += upper * wx.weights[1]
			cell[cells] += lower * wx.weights[0]
			cell[cells+1] += lower * wx.weights[1]
		}
	}
}
