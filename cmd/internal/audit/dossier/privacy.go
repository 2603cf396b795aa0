package dossier

import (
	"fmt"
	"math"

	"github.com/spdl/spdl/abci/query"
	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/app/params"
	"github.com/spdl/spdl/cmd/internal/caveat"
)

// privacy writes the privacy statement, in the terms of NIST SP 800-226, and each participant's spent epsilon.
func (w *writer) privacy() error {
	w.Section("Privacy statement", "participant", "gradients counted", "epsilon", "delta", "budget", "guarantee")
	s, p := w.State, w.State.Params.Privacy
	w.Say(w.state("params"), "Unit of privacy: %s.", unit(p))
	w.Say(w.state("params"), "Mechanism: %s.", mechanism(s.Params))
	w.Say(w.state("params"), "Sensitivity: the clip norm is %g, so that one unit moves the sum that is noised by at most "+
		"%g where it is clipped as the parameters say.", p.Clip, p.Clip)
	w.Say(w.state("params"), "Sampling: %s.", sampling(p))
	if app.Accounted(s.Params, s.Epochs) {
		w.Say(w.state("params"), "Privacy parameters and accountant: the chain's ledger adds up Renyi divergences at 47 "+
			"orders and, of rounds that take all units, mu² of Gaussian differential privacy; epsilon follows from them at "+
			"delta %g, and the budget of each participant is epsilon %g.", p.Delta, p.Epsilon)
	} else {
		w.Say(w.state("params, epochs"), "Privacy parameters and accountant: NO DP GUARANTEE, an epoch has no ledger.")
	}
	w.Say(manual, "Trust model: local to the participant. Each participant is trusted with its own data and noises its "+
		"gradient before it leaves the machine; the other participants, the validators and all readers are not trusted, and "+
		"may collude.")
	w.Say(manual, "Assumptions: the participant runs this worker, its random numbers are secret, the sampling of a batch "+
		"stays secret, and the divergences of all gradients compose; the chain counts gradients and cannot see the noise.")
	w.Say(manual, "Side channels: the duration of a step and the local logs of a participant are outside the guarantee, "+
		"as are accuracies that are measured on test rows.")
	w.Say(manual, "Data collection exposure: raw examples stay on their participant's hosts, whose owner sees them; what "+
		"a participant does with them beside the training is in its data sheet or open.")
	for _, text := range caveats(s) {
		w.Say(w.state("params, epochs"), "%s.", text)
	}
	for i := range s.Participants {
		spend, err := query.SpendOf(s, &s.Participants[i])
		if err != nil {
			return fmt.Errorf("spend of participant %d: %w", i, err)
		}
		epsilon, guarantee := "none", "NO DP GUARANTEE"
		if spend.Epsilon != nil {
			epsilon = fmt.Sprintf("%.4f", math.Ceil(*spend.Epsilon*1e4)/1e4) // rounded up as on the card
		}
		if spend.Guarantee {
			guarantee = "yes, under the assumptions above"
		}
		w.Row(recomputed(fmt.Sprintf("params, epochs, participants/%d", i)), w.who(uint32(i)),
			fmt.Sprint(spend.Participations), epsilon, fmt.Sprint(spend.Delta), fmt.Sprint(spend.Budget), guarantee)
	}
	return nil
}

// caveats returns the sentences that must accompany an epsilon.
func caveats(s *app.State) (out []string) {
	if app.KnownNoise(s.Params, s.Epochs) {
		out = append(out, caveat.TestChain)
	}
	if app.TrainerClips(s.Params, s.Epochs) {
		out = append(out, caveat.TrainerClips)
	}
	if claim := s.Params.Privacy.Lemma1Epsilon; claim != 0 {
		out = append(out, caveat.Lemma1(claim))
	}
	return out
}

func unit(p params.Privacy) string {
	switch {
	case p.Unit == params.UnitGroup:
		return "one group of one participant, all its examples added or removed together"
	case p.SamplingRate == 0:
		return "one example of one participant, replaced by one whose gradient is zero"
	}
	return "one example of one participant, added or removed"
}

func mechanism(p params.Params) string {
	switch p.Privacy.Mechanism {
	case params.MechanismGaussian:
		kind := map[bool]string{true: "discrete Gaussian", false: "Gaussian"}[p.Privacy.Discrete]
		return fmt.Sprintf("%s noise of multiplier %g on the clipped sum of a batch, before it is rounded and leaves the "+
			"machine", kind, p.Privacy.NoiseMultiplier)
	case params.MechanismNone:
		return "none"
	}
	return p.Privacy.Mechanism + ", which guarantees nothing"
}

func sampling(p params.Privacy) string {
	switch p.SamplingRate {
	case 0:
		return fmt.Sprintf("batches of %d examples, for which no amplification is counted", p.Batch)
	case 1:
		return "none, every round takes all units of a participant"
	}
	return fmt.Sprintf("Poisson, each unit at rate %g in every round; which units a round drew is secret and never "+
		"leaves the machine", p.SamplingRate)
}
