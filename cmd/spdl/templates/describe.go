package templates

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/spdl/spdl/app/params"
	"github.com/spdl/spdl/app/worker/trainer"
	"github.com/spdl/spdl/cmd/internal/cli/command"
	"github.com/spdl/spdl/gradients"
)

// description is the output of spdl_trainer.describe about a model.
type description struct {
	Tensors  []params.Tensor `json:"tensors"`
	Examples int             `json:"examples"` // of all participants together
	Groups   bool            `json:"groups"`   // the examples have groups, which Examples then counts
	Reads    bool            `json:"reads"`    // the model reads the data of the configuration
	Files    []string        `json:"files"`    // the files that the study needs, in the folder of the model's file
	Warnings []string        `json:"warnings"` // what is probably wrong with the model
	About    string          `json:"about"`    // what is trained and what is constant
	Weights  *weights        `json:"weights"`  // what describe wrote, or nil
	Norm     float64         `json:"norm"`     // bounds the inputs of a softmax regression; 0 for another model
	Gradient float64         `json:"gradient"` // typical norm of an example's at the start; 0 where it is not known
	Step     float64         `json:"step"`     // bounds the learning rate; 0 for no bound
	Loads    bool            `json:"loads"`    // load of the model's file reads the data, whose scale is not public
	Pace     string          `json:"pace"`     // what was timed, in words; "" if nothing was
	Patience string          `json:"patience"` // a line of net.toml where rounds do not wait for such a step; "" otherwise
}

// unsuitable is the exit code of spdl_trainer.describe for a model that SPDL cannot train.
const unsuitable = 3

// describe builds the model and tries it on examples. dir has the Python package and the data, and gets the
// file of the model's constants.
func describe(ctx context.Context, dir, source string, c trainerConfig, o Options) (d description, err error) {
	if source, err = filepath.Abs(source); err != nil {
		return d, err
	}
	config, err := c.text()
	if err != nil {
		return d, err
	}
	var out, said bytes.Buffer
	cmd := exec.CommandContext(ctx, o.Python, "-B", "-m", trainer.PackageName+".describe", source, "--config", config,
		"--folder", dir, "--adapt", c.Adapt, "--most", strconv.Itoa(gradients.MaxDim), "--participants",
		strconv.Itoa(o.Validators), "--batch", strconv.Itoa(o.Batch))
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, &out, &said
	end := command.Elapsed(ctx, o.Log, "checking "+filepath.Base(source))
	err = cmd.Run()
	end()
	lines := strings.Split(strings.TrimSpace(said.String()), "\n")
	words := strings.TrimSpace(lines[len(lines)-1])
	var exit *exec.ExitError
	switch {
	case ctx.Err() != nil:
		return d, errors.New("interrupted, no study is written")
	case errors.As(err, &exit) && exit.ExitCode() == unsuitable:
		return d, errors.New(words)
	case errors.As(err, &exit) && trainer.MissingModule(words) != "":
		return d, &trainer.StartError{Program: o.Python, Module: trainer.MissingModule(words)}
	case errors.As(err, &exit):
		_, _ = io.WriteString(o.Log, strings.TrimSuffix(strings.TrimSpace(said.String()), words))
		return d, fmt.Errorf("%s fails: %s", filepath.Base(source), words)
	case err != nil:
		return d, fmt.Errorf("no interpreter %s: name one with --python: %w", o.Python, err)
	}
	if err := json.Unmarshal(out.Bytes(), &d); err != nil {
		return d, fmt.Errorf("the description of %s is no JSON: %w", filepath.Base(source), err)
	}
	return d, nil
}
