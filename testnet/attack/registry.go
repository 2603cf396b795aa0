package attack

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spdl/spdl/internal/spelling"
)

// crafts lists the attacks on gradients; the aware variant of each follows from it. CONTRIBUTING.md says what else an
// attack needs.
var crafts = slices.Concat([]Attack{
	crafted{Prototype, "the paper's prototype: 1e7 in every coordinate", constant},
	crafted{"saturation", "the longest vector of the grid, against the mean", saturation},
	crafted{"gaussian", "Blanchard et al., NIPS 2017, section 6: a Gaussian of large variance", gaussian},
	crafted{"zero", "the zero vector", zero},
	crafted{"silent", "no gradient at all", silence},
	crafted{"sign-flip", "Li et al., AAAI 2019 (RSA): the own gradient, negated", signFlip},
	negatedMean("minus-half-mean", 0.5),
	negatedMean("minus-mean", 1),
	negatedMean("minus-3-mean", 3),
	crafted{"minus-mean+noise", inDisguise, noisyMean},
	crafted{"minus-mean+shared-noise", inDisguise, sharedNoisyMean},
	crafted{"ipm", "Xie et al., UAI 2019: -epsilon times the honest mean, epsilon = 0.1", ipm},
	crafted{"alie", "Baruch et al., NeurIPS 2019: mean - z std, z of the paper's majority argument", alie},
	optimised{name: "optimised-ipm", direction: againstMean},
	optimised{name: "optimised-alie", direction: alongDeviation},
	within{name: "min-max", reach: minMax},
	within{name: "min-sum", reach: minSum},
	crafted{"mimic", "Karimireddy et al., ICLR 2022, appendix B: the victim lies farthest along the direction of " +
		"largest variance", mimic},
	crafted{"lazy-copy", "free riding: Lin et al., 2019; the gradients of others, in turn", lazy},
	labelFlip{},
	crafted{"equivocation", "two signed gradients of one round, opposed", equivocation},
}, hiddens())

// inDisguise is the source of noisyMean and sharedNoisyMean.
const inDisguise = "the negated honest mean in the disguise of the honest gradients' noise"

// AwarePrefix begins the name of the variant of an attack that stays within the norms that the chain admits.
const AwarePrefix = "aware+"

// Names lists the attacks on gradients, without their aware variants.
func Names() []string {
	names := make([]string, len(crafts))
	for i, a := range crafts {
		names[i] = a.Name()
	}
	return names
}

// Lookup returns the attack of a name; "aware+" before a name gives its aware variant.
func Lookup(name string) (Attack, error) {
	base, isAware := strings.CutPrefix(name, AwarePrefix)
	i := slices.IndexFunc(crafts, func(a Attack) bool { return a.Name() == base })
	switch {
	case i < 0:
		return nil, fmt.Errorf("unknown attack %q%s, want one of %s, or one of them after %q", name,
			spelling.Suggest(name, Names()), strings.Join(Names(), ", "), AwarePrefix)
	case isAware:
		return Aware(crafts[i]), nil
	}
	return crafts[i], nil
}
