package tx

import "github.com/spdl/spdl/gradients"

// Vector decodes a gradient's payload as d coordinates of width w. The transaction caches the vector, because
// admission, a leader's draft and a block's verification all read it. Callers must not change the vector.
func (t *Tx) Vector(w gradients.Width, d int) (gradients.Vector, error) {
	if known := t.vector.Load(); known != nil && known.Width() == w && known.Len() == d {
		return *known, nil
	}
	v, err := gradients.Decode(w, d, t.Gradient.Payload)
	if err == nil {
		t.vector.Store(&v)
	}
	return v, err
}
