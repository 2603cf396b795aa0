package testnet

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spdl/spdl/abci/home"
	"github.com/spdl/spdl/app/model/table"
	"github.com/spdl/spdl/app/params"
	"github.com/spdl/spdl/app/preset"
	"github.com/spdl/spdl/app/worker/trainer"
)

// UseTrainer sets the trainer from a command line, and the folder in which the trainer starts.
func (m *Manifest) UseTrainer(line string) (err error) {
	m.Trainer = strings.Fields(line)
	m.TrainerDir, err = os.Getwd()
	return err
}

// base returns the parameters before the manifest's changes.
func (m *Manifest) base() (params.Params, error) {
	if m.Params != "" && m.Label+m.Group+m.Schema+m.Model == "" && m.Examples == 0 {
		return preset.Load(m.Params)
	}
	if m.Params != "" {
		return params.Params{}, fmt.Errorf("params %q with label %q, group %q, schema %q, model %q or %d examples, "+
			"which are for a preset: the parameters have them", m.Params, m.Label, m.Group, m.Schema, m.Model, m.Examples)
	}
	own, err := m.own()
	if err != nil {
		return params.Params{}, err
	}
	share := preset.Own{Data: own.Data}.Share(m.participants())
	if len(m.Trainer) == 0 && m.Examples > share {
		return params.Params{}, fmt.Errorf("examples is %d, want at most %d, which the data give each of %d participants",
			m.Examples, share, m.participants())
	}
	return preset.Make(m.Preset, m.participants(), own)
}

// own returns the chain's settings that do not come from the preset.
func (m *Manifest) own() (preset.Own, error) {
	o := preset.Own{Examples: m.Examples, Rounds: m.Rounds, Epsilon: m.Epsilon}
	if m.Model != "" {
		model, err := preset.LoadModel(m.Model)
		if err != nil {
			return o, err
		}
		o.Model = &model
	}
	if m.Preset == preset.NameExternal && o.Model != nil && o.Examples == 0 && len(m.Trainer) > 0 {
		var err error
		if o.Examples, err = m.askTrainer(*o.Model); err != nil {
			return o, err
		}
		m.Examples = o.Examples // saved in the homes' manifest, so that the trainer is asked only once
	}
	if !m.ownData() {
		if m.Label+m.Group+m.Schema != "" {
			return o, fmt.Errorf("label %q, group %q, schema %q and no table to read it from: name the CSV file as data, and "+
				"no trainer, which reads its data itself", m.Label, m.Group, m.Schema)
		}
		return o, nil
	}
	d, err := preset.Source{Path: m.Data, Label: m.Label, Group: m.Group, Schema: m.Schema}.Read()
	units := 0 // of the sites, whose groups are others even if their names are the same
	for i := 0; i < len(m.Sites) && d.Table != nil && err == nil; i++ {
		var n int
		n, err = table.Units(m.Sites[i], *d.Table)
		units += n
		d.Examples = table.Examples(units)
	}
	o.Data = &d
	return o, err
}

// askTrainer returns the number of examples that the first participant's trainer reports.
func (m *Manifest) askTrainer(model params.Model) (int, error) {
	if err := model.ValidateExternal(); err != nil {
		return 0, err
	}
	examples, err := m.startTrainer(0, model, params.Privacy{})
	if err != nil {
		return 0, fmt.Errorf("how many examples a participant has is not known: give it as --examples, or as examples in "+
			"the manifest; the trainer did not say it: %w", err)
	}
	return examples, nil
}

// startTrainer starts and ends participant i's trainer, and returns the number of its units of privacy. It fails
// if the trainer does not answer HELLO, as on data that it cannot train on.
func (m *Manifest) startTrainer(i int, model params.Model, privacy params.Privacy) (int, error) {
	w := home.DefaultAppConfig().Worker
	m.worker(&w, i)
	folder, err := filepath.Abs(m.Home) // a trainer that could read the homes to come is not started
	if err != nil {
		return 0, err
	}
	c := home.DefaultConfig()
	ctx := cmp.Or(m.within, context.Background())
	t, err := trainer.Start(ctx, home.TrainerOf(c.SetRoot(folder), w, nil), model, privacy)
	if err != nil {
		return 0, err
	}
	defer t.Close()
	return t.Len(), nil
}

// checkTrainer returns an error if the first participant's trainer, or that of a site, does not start, for example
// on data that it cannot train on. A net of such trainers would wait for gradients.
func (m *Manifest) checkTrainer(p params.Params) error {
	for i := 0; len(m.Trainer) > 0 && i < max(1, len(m.Sites)); i++ {
		if _, err := m.startTrainer(i, p.Model, p.Privacy); err != nil {
			return fmt.Errorf("node %d's trainer: %w", i, err)
		}
	}
	return nil
}

// ownData reports whether the nodes read a data set other than the embedded MNIST.
func (m *Manifest) ownData() bool {
	return m.Data != "" && m.Data != home.EmbeddedData && len(m.Trainer) == 0
}

// params returns the chain's parameters.
func (m *Manifest) params() (params.Params, error) {
	p, err := m.base()
	if err != nil {
		return p, err
	}
	if external := p.Model.Kind == params.ModelExternal; external != (len(m.Trainer) > 0) {
		return p, fmt.Errorf("model.kind is %q and trainer %q: a model of kind %q, and no other, needs a trainer",
			p.Model.Kind, m.Trainer, params.ModelExternal)
	}
	budget := m.Epsilon // 0 keeps the noise
	if m.Rounds > 0 && m.Rounds != p.Training.Rounds {
		if preset.SetRounds(&p, m.Rounds); p.Privacy.Mechanism == params.MechanismGaussian {
			budget = cmp.Or(budget, p.Privacy.Epsilon) // other rounds want other noise
		}
	}
	if budget != 0 {
		if err := preset.SetEpsilon(&p, budget); err != nil {
			return p, err
		}
	}
	if m.Batch != 0 {
		if err := preset.SetBatch(&p, m.Batch); err != nil {
			return p, err
		}
	}
	p.Training.LearningRate = cmp.Or(m.LearningRate, p.Training.LearningRate)
	p.Rule.Name, p.Rule.Tolerance = cmp.Or(m.Rule, p.Rule.Name), cmp.Or(m.Tolerance, p.Rule.Tolerance)
	if m.CommitReveal != nil {
		p.Election.CommitReveal = *m.CommitReveal
	}
	if m.Workers > 0 { // only validators propose, so f faulty ones in a row may leave an aggregate out
		preset.SetProposers(&p.Election, m.byzantine())
	}
	p.TestChain = m.Seed != 0
	if m.Adjust != nil {
		m.Adjust(&p)
	}
	err = preset.Account(&p)
	return p, err
}
