// Package model computes the two models that the project trains on MNIST-like data. It computes what a differentially
// private worker needs: the sum of per-example gradients, each clipped to a norm, and loss and accuracy on a test set.
//
// [Spec] describes a model. Its parameters are one flat vector of [Spec.Dim] float64 values, laid out as
//
//	softmax regression (Hidden 0): W [Classes][Inputs], b [Classes]
//	logistic regression:           W [Inputs], b
//	one hidden layer of tanh:      W1 [Hidden][Inputs], b1 [Hidden], W2 [Classes][Hidden], b2 [Classes]
//
// with every matrix row-major. With NoBias, b, b1 and b2 are left out. 196 inputs and 10 classes make 1,970 parameters,
// 784 inputs make 7,850, and 196-32-10 makes 6,634. A gradient has the same layout.
//
// # Clipping without per-example gradients
//
// The gradient of one example with respect to a layer is the outer product of the layer's deltas and its inputs, so its
// squared norm is ‖delta‖²(‖input‖²+1). The 1 is the part of the bias; without bias the factor
// is ‖input‖². The norm is therefore known before any gradient of a single example is written down
// (Goodfellow, "Efficient per-example gradient computations", 2015). The package scales the deltas by the clipping
// factor and accumulates the outer products of a few rows at a time with gonum's kernels.
//
// # Precision
//
// Parameters are rounded to float32, and logits and deltas are computed in float32. Norms, losses, and everything from
// the clipping factor to the sum are in float64. Two machines may compute different bits. That does no harm: a gradient
// is private to its worker, and other nodes compute only with its quantised form.
//
// The norm of a gradient is computed from the same numbers that are summed, so float64 rounding
// alone can make one example move the sum by more than the clip norm, and the margin of
// [privacy.ClipScale] covers it at any batch of up to [privacy.MaxRows]. A sum in float32 has no such
// margin: one row in front of blocks of 256 rows was seen to move it by 1.98 clip norms.
//
// # Initial parameters
//
// This package has no initial parameters. The initial parameters are part of the chain's state, so
// package app derives them in portable arithmetic: zeros, or values from a public seed.
package model
