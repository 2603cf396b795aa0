// Package plan predicts the cost and the result of a training before it starts:
//
//   - the noise that a target epsilon needs, or the epsilon that a noise gives;
//   - how the noise compares with a gradient;
//   - whether the theorem of the aggregation rule covers the consortium;
//   - the accuracy that was measured at such settings;
//   - the bytes and the time of a round over a link;
//   - the changes to the settings that would remove a warning.
//
// [Make] is a function of its [Input] alone and reads no chain and no genesis file: the caller
// fills the input from a preset or from the parameters of an epoch. Accuracy comes only from a
// table of measurements; for other settings a plan states no accuracy.
package plan
