// Package model holds the two models that the project trains on MNIST-like data, and the functions
// of them that a differentially private worker needs: the sum of per-example gradients, each
// clipped to a norm, and loss and accuracy on a test set.
//
// [Spec] names the model; parameters are one flat vector of [Spec.Dim] float64 values, laid out as
//
//	softmax regression (Hidden 0): W [Classes][Inputs], b [Classes]
//	one hidden layer of tanh:      W1 [Hidden][Inputs], b1 [Hidden], W2 [Classes][Hidden], b2 [Classes]
//
// each matrix row-major; without b, b1 and b2 if NoBias is set. 196 inputs and 10 classes make
// 1,970 parameters, 784 make 7,850, and 196-32-10 makes 6,634. A gradient has the layout of the
// parameters.
//
// # Clipping without per-example gradients
//
// The gradient of one example with respect to a layer is the outer product of the layer's deltas
// and its inputs, so its squared norm is ‖delta‖²(‖input‖²+1), the 1 being the bias, if there is
// one: no gradient of a single example is ever written down (Goodfellow, "Efficient per-example
// gradient computations", 2015). The deltas are scaled by the clipping factor and the outer
// products accumulated, by gonum's float32 kernels.
//
// # Precision
//
// Parameters are rounded to float32, and everything but norms, losses and the running sum is
// computed in float32. Two machines may compute different bits, which does no harm: a gradient is
// private to the worker that submits it, and everything that others recompute starts from the
// gradient's quantised form.
//
// The norm of a gradient is computed in float64, from the same float32 numbers that are summed. A
// gradient is clipped to (1 - 2^-15) times the clip norm; 2^-15 is 3e-5. This margin covers two
// errors. The two roundings of each product take 2^-22 clip norms. The rest is for the rounding of
// the accumulation, which depends on the other examples of the batch: at a batch of 1,500 the sum
// is off by 1.5e-5 clip norms. Without the margin, one more example was seen to move the sum by
// 1.0000008 clip norms.
//
// # What does not live here
//
// Initial parameters. They are part of the chain's state, so the consensus core derives them, zero
// or from a public seed, in portable arithmetic.
package model
