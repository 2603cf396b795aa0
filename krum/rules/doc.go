// Package rules holds the aggregation rules that an epoch can choose from, by name.
//
// A rule maps the included gradients, in participant order, to one aggregate Delta. Delta is a fraction of integers
// with one denominator, computed exactly, so that every validator gets the same bits. None of the rules rounds, draws
// random numbers, or depends on the number of cores.
//
//	mean            withstands nobody; the yardstick
//	krum            one of the inputs                            needs N >= 2f+3
//	multi-krum      mean of the N-f best                         needs N >= 2f+3
//	median          of each coordinate                           needs N >= 2f+1
//	trimmed-mean    of each coordinate, without f at either end  needs N >= 2f+1
//	nnm+<rule>      any of these after nearest-neighbour mixing
//
// What a rule needs by its theorem is Condition, a warning for genesis validation; what it needs to be computed at all
// is checked by Aggregate.
//
// # How to add a rule
//
// Write one file with a type that has Name, Condition, Denominator and aggregate, the last in terms of points, so that
// the rule works on mixtures of gradients as on gradients; state its resilience condition, cost and source in the
// type's comment. Add one line to the list in registry.go: the rule and its mixed variant then exist. The tests run
// over the registry; give the new rule an entry in the table of references in reference_test.go, or they fail.
package rules
