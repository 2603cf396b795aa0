// Package model computes the two models that the project trains on MNIST-like data. It computes
// what a differentially private worker needs: the sum of per-example gradients, each clipped to a
// norm, and loss and accuracy on a test set.
//
// [Spec] describes a model. Its parameters are one flat vector of [Spec.Dim] float64 values, laid
// out as
//
//	softmax regression (Hidden 0): W [Classes][Inputs], b [Classes]
//	one hidden layer of tanh:      W1 [Hidden][Inputs], b1 [Hidden], W2 [Classes][Hidden], b2 [Classes]
//
// with every matrix row-major. With NoBias, b, b1 and b2 are left out. 196 inputs and 10 classes
// make 1,970 parameters, 784 inputs make 7,850, and 196-32-10 makes 6,634. A gradient has the same
// layout.
//
// # Clipping without per-example gradients
//
// The gradient of one example with respect to a layer is the outer product of the layer's deltas
// and its inputs, so its squared norm is ‖delta‖²(‖input‖²+1). The 1 is the part of the bias;
// without bias the factor is ‖input‖². The norm is therefore known before any gradient of a single
// example is written down (Goodfellow, "Efficient per-example gradient computations", 2015). The
// package scales the deltas by the clipping factor and accumulates the outer products with gonum's
// float32 kernels.
//
// # Precision
//
// Parameters are rounded to float32, and all computation is in float32 except norms, losses and the
// running sum. Two machines may compute different bits. That does no harm: a gradient is private to
// its worker, and other nodes compute only with its quantised form.
//
// The norm of a gradient is computed in float64 from the same float32 numbers that are summed. A
// gradient is clipped to (1 - 2^-15) times the clip norm; 2^-15 is 3e-5. This margin covers two
// errors. The two roundings of each product take 2^-22 clip norms. The rounding of the
// accumulation, which depends on the other examples of the batch, takes the rest: at a batch of
// 1,500 the sum is off by 1.5e-5 clip norms. Without the margin, adding one example was seen to
// move the sum by 1.0000008 clip norms.
//
// # Initial parameters
//
// This package has no initial parameters. The initial parameters are part of the chain's state, so
// package app derives them in portable arithmetic: zeros, or values from a public seed.
package model
