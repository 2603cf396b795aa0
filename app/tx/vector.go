package tx

import "github.com/spdl/spdl/gradients"

// Vector decodes a gradient's payload as d coordinates of a width. Like Verify it caches a success:
// admission, a leader's draft and a block's verification read the same vector, which is read-only.
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
