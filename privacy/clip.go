package privacy

import "math"

// ClipScale returns the factor min(1, clip/norm) that brings a gradient of the given Euclidean norm
// inside the ball of radius clip. A clip of 0 or less does not clip. A norm that is not finite
// gives 0: the caller must then leave the gradient out rather than multiply, as 0 times infinity is
// not 0.
func ClipScale(norm, clip float64) float64 {
	switch {
	case math.IsNaN(norm) || math.IsInf(norm, 0):
		return 0
	case clip <= 0 || norm <= clip:
		return 1
	}
	return clip / norm
}
