// The files inference_*_test.go attack what workers release: they measure with which advantage an observer of
// the chain decides if one example was in a participant's data, with the noise of a preset and
// without, beside the most that the promised epsilon allows.
//
// The observer is the one of the guarantee. It sees every vector that the victim submits and the
// model of every round, and knows the mechanism, the sampling rate, all of the victim's other
// examples and the one in question, the canary. It does not know which examples were drawn. It
// undoes the worker's momentum, subtracts what the other examples add in expectation, and projects
// what is left on the canary's gradient, each direction weighed by how little the others' sampling
// and the noise vary in it. A round with that projection s gives the log-likelihood ratio
//
//	log(1 - q + q exp(s - k/2)),  s = <W c, r>,  k = <W c, c>
//
// of a normal residual r with covariance 1/W, c being the canary's clipped gradient and q the
// sampling rate; rounds add up. That is the best test there is, as far as the sum of the others'
// gradients is normal, and much stronger than a threshold on the loss of the final model, which
// uses one model instead of all vectors.
//
// The models of the rounds are fixed in advance, those of a training that the victim took no part
// in: the guarantee holds for any. The threshold comes from trials of its own, the rates from fresh
// ones. Confidence intervals are exact (Clopper and Pearson, 1934) or free of assumptions
// (Hoeffding, 1963), at 95 %.
//
// An attack that fails proves nothing. One that succeeds beyond MaxAdvantage proves that the
// mechanism or its accountant is wrong.
//
// Sources: Yeom et al., "Privacy risk in machine learning", 2018 (advantage); Carlini et al.,
// "Membership inference attacks from first principles", 2022 (likelihood ratios); Nasr et al.,
// "Adversary instantiation", 2021 (crafted canaries); Kairouz, Oh and Viswanath, "The composition
// theorem for differential privacy", 2015 (the bounds).
package privacy_test
