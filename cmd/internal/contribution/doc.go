// Package contribution estimates what each participant's gradients added to a trained model. It
// needs only the blocks and a test set on which the members agree. It processes what the chain
// already holds, so it costs no privacy.
//
// The package writes a round's Delta as a weighted sum of the gradients, as closely as possible.
// For a rule that selects m gradients and averages them, the weights are 1/m; for a rule that works
// by coordinates, they are found by least squares. The aggregate of a coalition is the part of that
// sum from its members. The value of a coalition is the improvement of the test loss over a round
// without gradients, in which only momentum and weight decay move the model. On that game the
// package computes leave-one-out values and Shapley values, round by round, and adds them up. ADR
// 28 says why it does not run the rule for every coalition.
//
// The loss, and all that leads to it, is computed with products that are rounded separately and
// sums in a fixed order, so that all CPUs give the same numbers from the same inputs of the model.
// All CPUs compute the same inputs from pixels, but not from the feature map strokes, whose float32
// they round differently.
package contribution
