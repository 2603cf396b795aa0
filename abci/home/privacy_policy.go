package home

import (
	"cmp"
	"fmt"

	"github.com/cometbft/cometbft/config"

	"github.com/spdl/spdl/app/params"
	"github.com/spdl/spdl/app/preset"
	"github.com/spdl/spdl/app/worker"
)

// policyOf returns a function that checks an epoch's privacy against the home's own requirements:
// the values in app.toml for every epoch, and the values in the home's genesis for the first epoch.
// The function trusts neither the chain nor the node.
func policyOf(genesis params.Privacy, w WorkerConfig) func(worker.Task) (params.Privacy, error) {
	return func(t worker.Task) (params.Privacy, error) {
		if name := t.Params.UnitName(); w.Unit != "" && w.Unit != name {
			return params.Privacy{}, fmt.Errorf("%w: the unit of privacy is %q, want %q (worker.unit of app.toml)",
				worker.ErrPolicy, name, w.Unit)
		}
		return checkPolicy(requiredPrivacy(genesis, w, t), t.Params.Privacy)
	}
}

// genesisPrivacy returns the privacy parameters in a home's genesis.
func genesisPrivacy(c *config.Config) (params.Privacy, error) {
	g, err := GenesisOf(c)
	return g.Params.Privacy, err
}

// requiredPrivacy returns the noise multiplier, epsilon and delta that the home requires for the
// epoch of a task. The first epoch must meet the values in the home's genesis. A later epoch, which
// the members have accepted, must meet only its own budget. The values in app.toml, where set, hold
// for every epoch. Epsilon is the max for all epochs together.
func requiredPrivacy(genesis params.Privacy, w WorkerConfig, t worker.Task) params.Privacy {
	d := genesis
	if t.Epoch > 0 {
		d = params.Privacy{Epsilon: t.Params.Privacy.Epsilon, Delta: t.Params.Privacy.Delta}
	}
	if w.MinNoiseMultiplier > 0 {
		d.NoiseMultiplier = w.MinNoiseMultiplier
	}
	if w.MaxEpsilon > 0 {
		d.Epsilon, d.Delta = w.MaxEpsilon, genesis.Delta
	}
	d.Delta = cmp.Or(d.Delta, preset.Delta)
	return d
}

// checkPolicy checks an epoch's privacy parameters p against the required parameters. It returns p
// with the costs from this program's accountant and with the required budget, or worker.ErrPolicy.
func checkPolicy(required, p params.Privacy) (params.Privacy, error) {
	if required.NoiseMultiplier == 0 && required.Epsilon == 0 {
		return p, nil
	}
	if p.Mechanism != params.MechanismGaussian || !(p.NoiseMultiplier >= required.NoiseMultiplier) {
		return p, fmt.Errorf("%w: mechanism %q with noise multiplier %g, want %q with at least %g (of the home's genesis, "+
			"or worker.min_noise_multiplier of app.toml)",
			worker.ErrPolicy, p.Mechanism, p.NoiseMultiplier, params.MechanismGaussian, required.NoiseMultiplier)
	}
	if required.Epsilon == 0 {
		return p, nil
	}
	own, err := preset.OwnLedger(p, required.Epsilon, required.Delta)
	if err != nil {
		err = fmt.Errorf("%w: %w", worker.ErrPolicy, err)
	}
	return own, err
}
