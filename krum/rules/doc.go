// Package rules holds the aggregation rules that an epoch can choose from, by name.
//
// A rule maps the included gradients, in participant order, to one aggregate Delta. Delta is a fraction of integers
// with one denominator, computed in integers, so that every validator gets the same bits. None of the rules uses random
// numbers or depends on the number of cores, and only three round: geometric-median, centered-clipping and
// agnostic-mean, which are limits of iterations, round weights in a way that is part of their definition.
//
//	mean                withstands nobody; the yardstick
//	krum                one of the inputs                               needs N >= 2f+3
//	multi-krum          mean of the N-f best                            needs N >= 2f+3
//	median              of each coordinate                              needs N >= 2f+1
//	trimmed-mean        of each coordinate, without f at either end     needs N >= 2f+1
//	mean-around-median  of each coordinate, without the f farthest      needs N >= 2f+1
//	geometric-median    least sum of distances, 32 steps                needs N >= 2f+1
//	mda                 mean of the k-f of least diameter, f <= 33      needs N >= 2f+1
//	cge                 mean of the k-f of least norm                   needs N >= 3f+1, and more
//	bulyan              N-2f by Krum, of these without the 2f farthest  needs N >= 4f+3
//	centered-clipping   ten clipped steps from the median               needs N >= 10f
//	agnostic-mean       mean, trimmed where the spectrum is no noise's  needs N >= 2f+1
//	nnm+<rule>          any of these after nearest-neighbour mixing
//	bucketing+<rule>    any of these on means of two                    needs the rule's of N/2, f
//
// What a rule needs by its theorem is Condition, a warning for genesis validation; what it needs to
// be computed at all is Feasible, which Aggregate checks first. Cost and Source are for documents.
//
// # Silent participants
//
// N counts the registered participants, also participants without an included gradient. Rules that score gradients by
// their neighbours (krum, multi-krum, bulyan) take the silent ones to be infinitely far away. The other rules ignore
// them: any f of the k included gradients may be Byzantine, however many participants are silent, so a rule drops as
// many of the k as f demands, and never fewer because some are silent.
//
// # How to add a rule
//
// Write one file with a type that has Name, Condition, feasible, Denominator, Cost, Source and aggregate, the last in
// terms of points, so that the rule works on mixtures and buckets of gradients as on gradients; state its resilience
// condition, cost and source in the type's comment. Add one line to the list in registry.go: the rule and its mixed and
// bucketed variants then exist, for genesis, the command line and the benchmarks too.
//
// Points have these methods ready: mean (of some points), best (by Krum), middleMean and nearMedian
// (of each coordinate), and distances. Other code that reads coordinates sums vectors[k].At(j) over
// the k of membersOf(i), which gives point i times size(), and divides by size() in Delta's
// denominator. Integers alone: a float has no place in a Delta.
//
// The tests run over the registry and fail, saying so, until the rule exists twice more, in words
// of its definition: in the table of references in reference_test.go, in Go, and in
// testdata/golden.py, which writes golden.txt. A rule with a property of its own that the laws in
// property_test.go do not allow, as CGE's dependence on the origin, is named there. The table
// of rules above is written by hand; that of docs/RULES.md, too, where testnet/attack wants a row for each rule.
package rules
