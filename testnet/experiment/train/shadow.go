package train

import (
	"github.com/spdl/spdl/app/params"
	"github.com/spdl/spdl/gradients"
	"github.com/spdl/spdl/krum/rules"
	"github.com/spdl/spdl/mnist"
	"github.com/spdl/spdl/testnet/attack"
)

// ShadowColumns names the quantities of a round's gradients that a training with a shadow measures:
//
//	gradient  |g|^2, the squared norm of the expected honest gradient
//	sampling  d sigma_f^2 = E|g~ - g|^2, the spread of the honest gradients without their noise
//	noise     d sigma^2, the squared norm that their noise has on average
//	aligned   <E h, g>, of the rule's output h under attack
//
// With worker momentum an honest gradient is the vector that is sent, an average over rounds.
var ShadowColumns = []string{"gradient", "sampling", "noise", "aligned"}

// A shadow is two sets of participants that train at a training's models and do not change them. The first set is like
// the training's, with honest and attacking participants. The second is honest and adds no noise, so that g and sigma_f
// can be measured although the noise is far greater. Each set has its own data and batches. Given the models the two
// sets are therefore independent, and products of the first set's h and the second set's mean have no bias: E<h, mean>
// = <E h, g>.
type shadow struct{ cast, bare *Participants }

func newShadow(spec Spec, train mnist.Set) (*shadow, error) {
	var out shadow
	var err error
	spec.Seed += 1000
	if out.cast, err = NewParticipants(spec, train); err != nil {
		return nil, err
	}
	spec.Seed += 1000
	spec.Byzantine, spec.Attack = 0, ""
	p := &spec.Params.Privacy
	p.Mechanism, p.NoiseMultiplier, p.PrototypeEpsilon, p.Discrete = params.MechanismNone, 0, 0, false
	if p.Clip > 0 { // the grid that follows from the noise would be coarse
		spec.Params.Grid = params.Grid{Width: uint32(gradients.Int16), Step: fine(*p)}
	}
	out.bare, err = NewParticipants(spec, train)
	return &out, err
}

// look returns a round's ShadowColumns, or nil without a shadow.
func (s *shadow) look(o Open) ([]float64, error) {
	if s == nil {
		return nil, nil
	}
	s.bare.Vector(0, o)
	m := momentsOf(s.bare.vectors, s.bare.spec.Params.Grid.Step)
	s.cast.Vector(0, o)
	h, err := s.cast.output(o)
	if err != nil {
		return nil, err
	}
	noise := 0.0
	for _, i := range s.cast.honest {
		std := s.cast.workers[i].NoiseStd()
		noise += float64(len(o.Model)) * std * std / float64(len(s.cast.honest))
	}
	gradient := attack.Dot(m.mean, m.mean) - m.spread/float64(len(s.bare.honest)) // without the bias of a square
	return []float64{gradient, m.spread, noise, attack.Dot(h, m.mean)}, nil
}

// output returns the rule's output on the open round's vectors, in gradient units. Silent participants are left out.
func (p *Participants) output(o Open) ([]float64, error) {
	rule, err := rules.Lookup(p.spec.Params.Rule.Name)
	if err != nil {
		return nil, err
	}
	in := p.input(o)
	for _, v := range p.vectors {
		if v.Len() > 0 {
			in.Vectors = append(in.Vectors, v)
		}
	}
	out, err := rule.Aggregate(in)
	if err != nil {
		return nil, err
	}
	h := make([]float64, len(out.Delta.Num))
	for j, num := range out.Delta.Num {
		h[j] = float64(num) / float64(out.Delta.Den) * p.spec.Params.Grid.Step
	}
	return h, nil
}
