package rules

import (
	"fmt"
	"slices"
	"strings"
)

// aggregator is a rule that can be applied to mixtures as well.
type aggregator interface {
	Name() string
	Condition(n, f int) error
	// feasible returns nil if the rule can aggregate that many included points of n, at least one,
	// of which f are Byzantine, f < n.
	feasible(n, f, included int) error
	Denominator(n, f, included int) int64
	Cost() string
	Source() string
	// aggregate computes Delta of p: the points are in.Vectors, or mixtures or buckets of them, and feasible. A rule reads
	// p, not in.Vectors and in.Floor: with buckets there are fewer points than vectors.
	aggregate(in Input, p points) (Output, error)
}

// all lists the rules; the mixed and bucketed variants follow from this list. Other code names a rule only for what its
// scores mean (cmd/internal/chainview), in presets, and in forecasts and experiments made for it.
var all = []aggregator{
	meanRule{},
	krumRule{},
	multiKrumRule{},
	medianRule{},
	trimmedMeanRule{},
	aroundMedianRule{},
	geometricMedianRule{},
	centeredClippingRule{},
	comparativeRule{},
	minimumDiameterRule{},
	bulyanRule{},
	agnosticMeanRule{},
}

// weighing names the rules whose scores tell weights: a score is how far the gradient's weight is below an equal share,
// in units of 2^-20 of Delta.
var weighing = []string{agnosticMeanRule{}.Name()}

// Weighs reports whether the scores of a rule tell the weights of gradients.
func Weighs(name string) bool { return slices.Contains(weighing, name) }

// Lookup returns the rule of that name, or an error that wraps ErrUnknown and lists the names that
// there are without those of rules after mixing or bucketing.
func Lookup(name string) (Rule, error) {
	for _, r := range rules() {
		if r.Name() == name {
			return r, nil
		}
	}
	plain := slices.DeleteFunc(Names(), func(known string) bool { return strings.Contains(known, "+") })
	return nil, fmt.Errorf("%w: %q, known are %s, each also after nnm+ or bucketing+", ErrUnknown, name,
		strings.Join(plain, ", "))
}

// Names returns the names of all rules, sorted.
func Names() []string {
	var names []string
	for _, r := range rules() {
		names = append(names, r.Name())
	}
	slices.Sort(names)
	return names
}

func rules() []Rule {
	var list []Rule
	for _, a := range all {
		list = append(list, plainRule{a}, mixedRule{a}, bucketedRule{a})
	}
	return list
}

// plainRule applies a rule to the gradients themselves.
type plainRule struct{ aggregator }

func (r plainRule) Feasible(n, f, included int) error {
	if err := feasible(n, f, included); err != nil {
		return err
	}
	return r.feasible(n, f, included)
}

func (r plainRule) Aggregate(in Input) (Output, error) {
	if err := in.check(r); err != nil {
		return Output{}, err
	}
	return r.aggregate(in, points{vectors: in.Vectors, floor: in.Floor})
}
