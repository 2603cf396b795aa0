// Package accountant says how much privacy a worker has spent: the epsilon of many noisy gradients at a given delta.
//
// # The guarantee
//
// A data set D and its neighbour D' differ by one record, added or removed. A mechanism M is
// (epsilon, delta)-private if
//
//	P(M(D) in S) <= exp(epsilon) P(M(D') in S) + delta
//
// for all neighbours, in both orders, and every set S of outcomes. Data sets in which one record replaces another are
// two such steps apart: their guarantee is a weaker one, (2 epsilon, (1 + exp(epsilon)) delta).
//
// In a round every record enters the batch with probability q on its own ([Mechanism].SamplingRate), its gradient is
// clipped to norm C, and Gaussian noise of standard deviation z*C ([Mechanism].NoiseMultiplier is z) goes onto the sum.
// The round then reveals no more than one sample from P = (1-q) N(0, z²) + q N(1, z²), with the record, or from Q =
// N(0, z²), without it; and T rounds reveal no more than T such samples, whatever the model does with what it has
// seen. That is the whole model, so:
//
//   - The observer knows all but the one record and sees every vector of every round, but neither
//     which records were drawn nor the size of the batch. Batches that are shuffled, cut from an
//     epoch, of fixed size, or public are another mechanism, without this guarantee at q < 1. At q =
//     1 it holds whatever is known of the batches, as long as one record does not decide whether
//     another is drawn. In a batch of fixed size it does: there it holds between data sets in which
//     one record is replaced by one without a gradient, and with NoiseMultiplier halved between
//     those in which it is removed.
//   - Epsilon is one worker's, for its own records. Workers that hold different records do not add
//     up; a record that two of them hold costs both.
//   - It covers what was computed with the noise. It cannot prove that somebody added it.
//
// # Three methods
//
//   - [RDP], the default: Rényi divergence of the sampled Gaussian in closed form, converted. An
//     upper bound, in less than a millisecond for any number of rounds, up to 100 where epsilon is
//     0.001. Epsilon is 5 to 10 % above the truth, and many times the truth where rounds are few
//     and records hardly ever drawn.
//   - [PLD]: the distribution of the privacy loss on a grid, rounded so that delta only grows.
//     Epsilon is within 0.01 % above the truth, delta within 1 %, unless that takes too large a
//     grid: with a million rounds, or where large losses are rare. Milliseconds for 100 rounds, a
//     second or so at worst. Never above RDP. Monotone up to the grid's error.
//   - [Analytic]: exact, for q = 1: rounds that take all records are together one Gaussian, whose mu²
//     is the sum of theirs (Gaussian differential privacy).
//
// No method is the central limit theorem, which takes sampled rounds for such a Gaussian and reports
// less than what is spent. All arithmetic is in float64; PLD carries a bound on its own rounding errors. The
// functions of exp, log and erfc may differ in the last bit between machines: nothing here belongs
// on a consensus path. Agree on the integers that [ChainCosts] and [ChainBudget] return.
//
// [Lemma1] is the formula of the SPDL paper. What it calls epsilon is not: a [Calibration] has the
// claim and the RDP epsilon together.
//
// # Sources
//
//   - Mironov, Talwar, Zhang, "Rényi differential privacy of the sampled Gaussian mechanism", 2019,
//     arXiv:1908.10530
//   - Canonne, Kamath, Steinke, "The discrete Gaussian for differential privacy", 2020,
//     arXiv:2004.00010, proposition 12
//   - Balle, Wang, "Improving the Gaussian mechanism for differential privacy", 2018,
//     arXiv:1805.06530, theorem 8
//   - Dong, Roth, Su, "Gaussian differential privacy", 2019, arXiv:1905.02383, corollary 3.3
//   - Koskela, Jälkö, Honkela, "Computing tight differential privacy guarantees using FFT", 2020,
//     arXiv:1906.03049
//   - Doroshenko, Ghazi, Kamath, Kumar, Manurangsi, "Connect the dots: tighter discrete
//     approximations of privacy loss distributions", 2022, arXiv:2207.04380
//   - Zhu, Dong, Wang, "Optimal accounting of differential privacy via characteristic function",
//     2022, arXiv:2106.08567
//   - Cohen, Rodriguez Villegas, Zagier, "Convergence acceleration of alternating series", 2000
package accountant
