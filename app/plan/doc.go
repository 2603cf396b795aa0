// Package plan predicts the cost and the result of a training before it starts: the noise that a
// target epsilon needs or the epsilon that a noise gives, how the noise compares with a gradient,
// whether the aggregation rule's theorem covers the consortium, what accuracy was measured at such
// settings, how many bytes and how much time a round takes over a link, and what to change if that
// does not fit.
//
// [Make] is a function of its [Input]. It knows nothing of chains and genesis files: the caller
// takes the input from a preset or from the parameters of an epoch. Accuracy comes from a table of
// measurements alone; a plan states none for other settings.
package plan
