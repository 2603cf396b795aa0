package home

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"time"

	"github.com/cometbft/cometbft/config"

	"github.com/spdl/spdl/app/model/inputs"
	"github.com/spdl/spdl/app/model/table"
	"github.com/spdl/spdl/app/params"
	"github.com/spdl/spdl/app/worker"
	"github.com/spdl/spdl/app/worker/trainer"
	"github.com/spdl/spdl/app/worker/trainer/sandbox"
	"github.com/spdl/spdl/mnist"
)

// WorkerOf returns the configuration of a home's worker: keys or signer, journal, policy, consent, data and trainer.
func WorkerOf(c *config.Config, a AppConfig, s *Keystore, p Participant, data PartOf,
	log func(string, ...any)) (worker.Config, error) {
	genesis, err := genesisPrivacy(c)
	if err != nil {
		return worker.Config{}, err
	}
	return workerOf(c, a, s, p, policyOf(genesis, a.Worker), data, log)
}

func workerOf(c *config.Config, a AppConfig, s *Keystore, p Participant,
	policy func(worker.Task) (params.Privacy, error), data PartOf, log func(string, ...any)) (w worker.Config, err error) {
	path := InHome(c, a.Worker.KeyFile)
	w = worker.Config{
		Keys: p.Keys, Reload: func() (worker.Keys, error) { return s.LoadKeys(path) }, Journal: InHome(c, a.Worker.Journal),
		Policy: policy, Consent: consentOf(c, a.Worker), Log: log,
		StepDelay: a.Worker.StepDelay.Duration, LogLoss: a.Worker.LogLoss,
	}
	if p.Signer != nil { // without this check the interface would hold a nil pointer
		w.Signer = p.Signer
	}
	if w.External, err = externalOf(c, a.Worker, log); err != nil {
		return worker.Config{}, err
	}
	w.Data = func(ctx context.Context, t worker.Task) (mnist.Features, error) {
		own, err := a.Worker.readExamples(t, data)
		if err != nil {
			return mnist.Features{}, err
		}
		if own.Groups != nil && t.Params.Privacy.Unit == "" {
			log(trainer.GroupsIgnored)
		}
		return worker.Shard(own, nil, t.Params.Model, inputs.Keep{Alone: true, Progress: progressOf(ctx, own.Len(), log)})
	}
	if a.Worker.TestSeed != 0 {
		log("TEST CHAIN ONLY: noise from a known seed gives no privacy", "seed", a.Worker.TestSeed)
		w.TestSeed = a.Worker.TestSeed
	}
	return w, nil
}

// CheckFit returns worker.ErrUnfit if worker.trainer or worker.data does not suit a model that this program trains, on
// a chain of that many active participants. It accepts all settings for an external model.
func (w WorkerConfig) CheckFit(m params.Model, active int) error {
	if len(w.Trainer) > 0 && m.Kind != params.ModelExternal {
		return fmt.Errorf("%w: worker.trainer is set, and the chain's model is %q, which this program trains itself: leave "+
			"worker.trainer out, or name a chain whose model is external", worker.ErrUnfit, m.Kind)
	}
	if w.Data == "" && active > 1 && m.Kind != params.ModelExternal {
		return fmt.Errorf("%w: worker.data of app.toml is empty, and %d participants train on this chain, each on data of "+
			"its own: name the folder or the CSV file of yours, or say %q for the embedded MNIST, of which worker.part and "+
			"worker.parts deal out a share", worker.ErrUnfit, active, EmbeddedData)
	}
	return nil
}

// readExamples reads the worker's share of the data at worker.data, for a model that this program trains.
func (w WorkerConfig) readExamples(t worker.Task, data PartOf) (mnist.Set, error) {
	if err := w.CheckFit(t.Params.Model, t.Active); err != nil {
		return mnist.Set{}, err
	}
	own, err := data(w.Data, t.Params.Model, w.partOf)
	if err == nil {
		err = CheckGroups(w.Data, own, t.Params)
	}
	if errors.Is(err, inputs.ErrInputs) || errors.Is(err, table.ErrTable) || errors.Is(err, mnist.ErrGroups) {
		err = fmt.Errorf("%w: %w", worker.ErrUnfit, err)
	}
	if file := new(fs.PathError); errors.As(err, &file) && !errors.Is(err, worker.ErrUnfit) {
		err = fmt.Errorf("%w: worker.data: %w: mount or name them, and start again", worker.ErrData, err)
	}
	return own, err
}

// UseTrainer sets the trainer to a command line, which is split at its spaces, as no shell reads it, and its folder to
// the current working directory.
func (w *WorkerConfig) UseTrainer(line string) (err error) {
	w.Trainer = strings.Fields(line)
	w.TrainerDir, err = os.Getwd()
	return err
}

// TrainerOf returns the configuration of a home's trainer.
func TrainerOf(c *config.Config, w WorkerConfig, log func(string, ...any)) trainer.Config {
	return trainer.Config{
		Argv: w.Trainer, Dir: InHome(c, w.TrainerDir), Timeout: w.TrainerTimeout.Duration, Log: log,
		Share: trainer.Share{Data: w.Data, Part: w.Part, Parts: w.Parts, Partition: w.Partition, Alpha: w.Alpha,
			Seed: w.PartitionSeed},
		Sandbox: w.sandboxIn(c), Approved: w.Trainers,
	}
}

// sandboxSettings returns the settings of the trainer's sandbox, without paths of the home.
func (w WorkerConfig) sandboxSettings() sandbox.Settings {
	return sandbox.Settings{Off: w.Sandbox == sandbox.ModeOff, Memory: w.TrainerMemory, Scratch: w.TrainerScratch,
		Processes: w.TrainerProcesses, Read: w.TrainerRead, Devices: w.Devices, Env: w.TrainerEnv}
}

// sandboxIn returns the settings of the sandbox for a home's trainer.
func (w WorkerConfig) sandboxIn(c *config.Config) sandbox.Settings {
	s := w.sandboxSettings()
	s.Secret = w.Secrets(c)
	return s
}

// Secrets returns the files and folders of a home that a trainer must not read: keys, journal and databases.
func (w WorkerConfig) Secrets(c *config.Config) (all []string) {
	for _, secret := range []string{"config", "data", w.KeyFile, NextKeyFile(w.KeyFile), w.Journal, w.SignerCerts,
		c.PrivValidatorKeyFile(), c.PrivValidatorStateFile(), c.NodeKeyFile(), c.DBDir()} {
		if secret != "" {
			all = append(all, InHome(c, secret))
		}
	}
	return all
}

// sayContainment logs the mechanisms that contain a trainer, or that the trainer is not contained.
func sayContainment(s sandbox.Settings, log func(string, ...any)) {
	if s.Off {
		log("THE TRAINER IS NOT CONTAINED: it can read this node's keys and send the data away (worker.sandbox is \"off\")")
		return
	}
	means, lacks := sandbox.Describe()
	log("the trainer is contained", "by", means)
	for _, lack := range lacks {
		log("a later kernel would contain the trainer better", "since", lack)
	}
}

// externalOf returns a function that starts a home's trainer, nil if the home has none.
func externalOf(c *config.Config, w WorkerConfig, log func(string, ...any)) (func(context.Context,
	worker.Task) (worker.Examples, error), error) {
	if len(w.Trainer) == 0 {
		return nil, nil
	}
	conf := TrainerOf(c, w, log)
	if err := conf.Check(); err != nil {
		return nil, fmt.Errorf("worker.trainer: %w", err)
	}
	sayContainment(conf.Sandbox, log)
	return func(ctx context.Context, t worker.Task) (worker.Examples, error) {
		program, err := trainer.Start(ctx, conf, t.Params.Model, t.Params.Privacy)
		if err != nil { // without this check the interface would hold a nil pointer
			return nil, err
		}
		if program.IgnoresGroups() {
			log(trainer.GroupsIgnored)
		}
		return program, nil
	}, nil
}

// progressOf returns a function that logs the progress of computing the features of images, from the first call on, and
// stops it when ctx ends.
func progressOf(ctx context.Context, images int, log func(string, ...any)) func(done int) error {
	const every = 2 * time.Second
	var last time.Time
	return func(done int) error {
		if done < images && time.Since(last) >= every {
			last = time.Now()
			log("computing the features of the training images", "done", done, "of", images)
		}
		return ctx.Err()
	}
}

// partOf returns the indices of the participant's examples in training data with the given labels. The method value
// w.partOf is a mnist.Part. If the participant has all of the data (Parts is 1), partOf keeps the order of the rows, so
// that adding or removing a row does not reorder the other rows.
func (w WorkerConfig) partOf(labels []uint8) ([]int, error) {
	if w.Parts == 1 {
		all := make([]int, len(labels))
		for i := range all {
			all[i] = i
		}
		return all, nil
	}
	if w.Partition == PartitionDirichlet {
		parts, err := mnist.PartitionDirichlet(labels, mnist.Set{Labels: labels}.Classes(), w.Parts, w.Alpha, w.PartitionSeed)
		if err != nil {
			return nil, err
		}
		return parts[w.Part], nil
	}
	return mnist.PartitionIID(len(labels), w.Parts, w.PartitionSeed)[w.Part], nil
}
