package attack

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spdl/spdl/gradients"
	"github.com/spdl/spdl/internal/spelling"
)

// crafted is an attack that a function makes.
type crafted struct {
	name, source string
	craft        func(View) []gradients.Vector
}

func (c crafted) Name() string                    { return c.name }
func (c crafted) Source() string                  { return c.source }
func (c crafted) Craft(v View) []gradients.Vector { return c.craft(v) }

// The sources of several attacks.
const (
	negated2021 = "the honest mean, negated and scaled; Guerraoui et al., PODC 2021, on why noise helps it"
	disguised   = "the negated honest mean in the disguise of the honest gradients' noise"
	searched    = "Shejwalkar and Houmansadr, NDSS 2021; the line search of Allouah et al., AISTATS 2023, section 6"
	inverse     = "Shejwalkar and Houmansadr, NDSS 2021, section IV: along the inverse standard deviation"
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
	crafted{"minus-half-mean", negated2021, negatedMean(0.5).craft},
	crafted{"minus-mean", negated2021, negatedMean(1).craft},
	crafted{"minus-3-mean", negated2021, negatedMean(3).craft},
	crafted{"minus-mean+noise", disguised, noisyMean{}.craft},
	crafted{"minus-mean+shared-noise", disguised, noisyMean{shared: true}.craft},
	crafted{"ipm", "Xie et al., UAI 2019: -epsilon times the honest mean, epsilon = 0.1", ipm},
	crafted{"alie", "Baruch et al., NeurIPS 2019: mean - z std, z of the paper's majority argument", alie},
	crafted{"optimised-ipm", searched, optimised(againstMean).craft},
	crafted{"optimised-alie", searched, optimised(alongDeviation).craft},
	crafted{"min-max", inverse, within(minMax).craft},
	crafted{"min-sum", inverse, within(minSum).craft},
	crafted{"mimic",
		"Karimireddy et al., ICLR 2022, appendix B: the victim lies farthest along the direction of largest variance", mimic},
	crafted{"lazy-copy", "free riding: Lin et al., 2019; the gradients of others, in turn", lazy},
	labelFlip{},
	crafted{"equivocation", "two signed gradients of one round, opposed", equivocation},
}, hiddens())

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
		return nil, fmt.Errorf("unknown attack %q%s: spdl-lab experiment --help lists all", name,
			spelling.Suggest(name, Names()))
	case isAware:
		return Aware(crafts[i]), nil
	}
	return crafts[i], nil
}
