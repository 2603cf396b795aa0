package command

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/cometbft/cometbft/config"
	"github.com/spf13/cobra"

	"github.com/spdl/spdl/abci/home"
	"github.com/spdl/spdl/app/worker/trainer/sandbox"
)

// Models are the options of a command that measures models.
type Models struct{ Data, Trainer, Sandbox string }

// Flags declares the options, whose defaults a home has, as "the home".
func (o *Models) Flags(cmd *cobra.Command, home string) {
	Flag(cmd, &o.Data, "data", "", "folder of IDX files, CSV or Parquet file, to measure on (default: worker.data of "+
		home+", else the embedded MNIST)")
	o.TrainerFlags(cmd, home)
}

// TrainerFlags declares the options of the trainer.
func (o *Models) TrainerFlags(cmd *cobra.Command, home string) {
	Flag(cmd, &o.Trainer, "trainer", "", "program, with arguments, that measures an external model, as \"python3 "+
		"train.py\" (default: worker.trainer of "+home+")")
	SandboxFlag(cmd, &o.Sandbox)
}

// SandboxFlag declares the option of whether a trainer is contained.
func SandboxFlag(cmd *cobra.Command, mode *string) {
	Flag(cmd, mode, "sandbox", "", "whether the trainer is contained, on or off (default: worker.sandbox of the home)").
		Values(home.SandboxOn, home.SandboxOff)
}

// Evaluator returns an evaluator of models. It has the data and the trainer of the options, or by default those of the
// home. The default home need not exist, and is not read if --node names a node. The caller closes the evaluator.
func (r *Run) Evaluator(node string, o Models) (*home.Evaluator, error) {
	if !r.Named && node != "" {
		return r.EvaluatorOf(config.DefaultConfig().SetRoot(r.Home), home.DefaultAppConfig().Worker, o)
	}
	load := loadOrDefault
	if r.Named {
		load = home.Load
	}
	c, a, err := load(r.Home)
	if err != nil {
		return nil, err
	}
	return r.EvaluatorOf(c, a.Worker, o)
}

// loadOrDefault reads the configuration of a home. Where there is no home it returns the default one.
func loadOrDefault(dir string) (*config.Config, home.AppConfig, error) {
	if _, err := os.Stat(filepath.Join(dir, "config")); errors.Is(err, fs.ErrNotExist) {
		return config.DefaultConfig().SetRoot(dir), home.DefaultAppConfig(), nil
	}
	return home.Load(dir)
}

// Sandbox returns the settings of the sandbox for a trainer in a folder: those of the home, of which
// mode, unless it is empty, replaces worker.sandbox.
func (r *Run) Sandbox(mode, folder string) (s sandbox.Settings, err error) {
	if err := r.OneHome(); err != nil {
		return s, err
	}
	c, a, err := loadOrDefault(r.Home)
	if err != nil {
		return s, err
	}
	t := home.TrainerOf(c, a.Worker, nil)
	s = t.Sandbox
	s.Read = nil
	for _, path := range t.Sandbox.Read { // the trainer may start in another folder than the home's
		if !filepath.IsAbs(path) {
			path = filepath.Join(t.Dir, path)
		}
		s.Read = append(s.Read, path)
	}
	s.Off = cmp.Or(mode, a.Worker.Sandbox) == home.SandboxOff
	s.Secret, err = r.secrets(folder)
	return s, err
}

// secrets returns the files that a trainer in a folder must not read: those of the home, and of the
// homes that are in the folder, as those of a localnet. It fails if the configuration of a home, which
// says where its secrets are, cannot be read.
func (r *Run) secrets(folder string) (secrets []string, err error) {
	homes := r.Homes()
	err = filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() && isHome(path) {
			homes = append(homes, path)
		}
		if errors.Is(err, fs.ErrPermission) { // the trainer may read no more
			return filepath.SkipDir
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	for _, one := range homes {
		if one, err = filepath.Abs(one); err != nil {
			return nil, err
		}
		c, a, err := loadOrDefault(one)
		if err != nil {
			return nil, fmt.Errorf("what a trainer must not read of the home %s is unknown: %w", one, err)
		}
		secrets = append(secrets, a.Worker.Secrets(c)...)
	}
	return secrets, nil
}

// EvaluatorOf returns an evaluator with the data and the trainer of the options or, by default, of a home's worker. It
// writes what a trainer of the options says to standard error.
func (r *Run) EvaluatorOf(c *config.Config, w home.WorkerConfig, o Models) (*home.Evaluator, error) {
	w.Data = cmp.Or(o.Data, w.Data)
	abs, err := filepath.Abs(o.Data)
	if _, missing := os.Stat(o.Data); missing == nil && err == nil { // a trainer may start in another folder
		w.Data = abs
	}
	w.Sandbox = cmp.Or(o.Sandbox, w.Sandbox)
	if o.Trainer == "" {
		return home.EvaluatorOf(c, w), nil
	}
	if err = w.UseTrainer(o.Trainer); err != nil {
		return nil, err
	}
	t := home.TrainerOf(c, w, func(line string, _ ...any) { fmt.Fprintln(r.Err, Plain(line)) })
	if t.Sandbox, err = r.Sandbox(o.Sandbox, t.Dir); err != nil {
		return nil, err
	}
	if err := t.Check(); err != nil {
		return nil, Usage(err)
	}
	return home.EvaluatorBy(t), nil
}
