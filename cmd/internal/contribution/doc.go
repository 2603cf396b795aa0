// Package contribution estimates what each participant's gradients added to a trained model, from
// the blocks and a test set that the members agree on. It is post-processing of what the chain
// holds, so it costs no privacy.
//
// The round's Delta is a weighted sum of its gradients, as nearly as one can be found: weights of
// 1/m for the m gradients that a selecting rule averages, and the weights of least squares for a
// rule that works by coordinates. A coalition's aggregate is the part of that sum that its members
// contributed, and its value is the improvement of the test loss over a round without gradients,
// in which momentum and weight decay alone move the model. On that game the package computes
// leave-one-out values and Shapley values, round by round, and adds them up. ADR 28 says why the
// rule is not run again for every coalition.
//
// The loss, and all that leads to it, is computed with products that are rounded by themselves and
// sums in a fixed order, so that all CPUs give the same numbers from the same inputs of the model.
// All CPUs compute the same inputs from pixels, but not from the feature map strokes, whose float32
// they round differently.
package contribution
