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
	constant{},
	saturation{},
	gaussian{},
	zero{},
	silence{},
	signFlip{},
	negatedMean{name: "minus-half-mean", factor: 0.5},
	negatedMean{name: "minus-mean", factor: 1},
	negatedMean{name: "minus-3-mean", factor: 3},
	noisyMean{name: "minus-mean+noise"},
	noisyMean{name: "minus-mean+shared-noise", shared: true},
	ipm{},
	alie{},
	optimised{name: "optimised-ipm", direction: againstMean},
	optimised{name: "optimised-alie", direction: alongDeviation},
	within{name: "min-max", reach: minMax},
	within{name: "min-sum", reach: minSum},
	mimic{},
	lazy{},
	labelFlip{},
	equivocation{},
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
		return nil, fmt.Errorf("unknown attack %q%s, want one of %s, or one of them after %q", name,
			spelling.Suggest(name, Names()), strings.Join(Names(), ", "), AwarePrefix)
	case isAware:
		return Aware(crafts[i]), nil
	}
	return crafts[i], nil
}
