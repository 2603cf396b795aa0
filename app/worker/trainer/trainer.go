package trainer

import (
	"cmp"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spdl/spdl/app/model/table"
	"github.com/spdl/spdl/app/params"
	"github.com/spdl/spdl/app/worker/trainer/sandbox"
	"github.com/spdl/spdl/privacy"
)

// ErrTrainer is wrapped by every failure of a trainer's program.
var ErrTrainer = errors.New("trainer failed")

// ErrUnmeasured means that a trainer cannot evaluate models.
var ErrUnmeasured = errors.New("the trainer does not evaluate")

// These are the defaults of a Config, and the max pause before a restart.
const (
	DefaultTimeout = 2 * time.Minute
	firstPause     = time.Second
	longestPause   = time.Minute
)

// Config says how to start a trainer.
type Config struct {
	Argv    []string      // the program and its arguments, without a shell
	Dir     string        // the working directory
	Timeout time.Duration // the max time of the start, and of each answer; default DefaultTimeout
	Pause   time.Duration // the pause before the first restart, which doubles with each failure; default 1 s
	Share   Share
	Sandbox sandbox.Settings
	// Approved lists the hashes of code that is allowed to run, in addition to the hash in the
	// chain's model. If Approved is empty and the model has no hash, any code is allowed.
	Approved []string
	Log      func(message string, keyvals ...any) // gets the lines of the trainer's standard error; may be nil
	logged   *allowance                           // bounds what all processes of a Trainer log
}

// Check returns an error if the program does not exist or is not executable.
func (c Config) Check() error {
	if len(c.Argv) == 0 {
		return fmt.Errorf("no trainer is named")
	}
	if err := c.checkContained(); err != nil {
		return err
	}
	path := c.Argv[0]
	script := slices.IndexFunc(c.Argv, func(word string) bool { return word != path && !strings.HasPrefix(word, "-") })
	if script > 0 && strings.HasSuffix(c.Argv[script], ".py") {
		if _, err := os.Stat(sandbox.From(c.Dir, c.Argv[script])); err != nil { // Python would blame the sandbox
			return fmt.Errorf("the trainer's script: %w", err)
		}
	}
	if !strings.ContainsRune(path, filepath.Separator) {
		if _, err := exec.LookPath(path); err != nil {
			if _, err := os.Stat(filepath.Join(c.Dir, path)); err == nil {
				return fmt.Errorf("%q is no program in $PATH: name the file as ./%s, or let spdl new --module FILE.py:FUNCTION "+
					"make a trainer of a PyTorch module", path, path)
			}
			return fmt.Errorf("there is no program %q: name one in $PATH, or its path: %w", path, err)
		}
		return nil
	}
	if _, err := exec.LookPath(sandbox.From(c.Dir, path)); err != nil {
		return fmt.Errorf("%w: a script needs a first line as #!/usr/bin/env python3 and the permission to be executed "+
			"(chmod +x), or is the argument of its interpreter", err)
	}
	return nil
}

// checkContained returns an error if the program must be contained and this system does not support that.
func (c Config) checkContained() error {
	if c.Sandbox.Off {
		return nil
	}
	if err := c.Sandbox.Validate(); err != nil {
		return err
	}
	if err := sandbox.Supported(); err != nil {
		return fmt.Errorf("%w: set worker.sandbox = %q to run it without", err, sandbox.ModeOff)
	}
	return nil
}

// Trainer is a participant's running training program. It is safe for concurrent use: calls run one after the other.
type Trainer struct {
	config Config
	model  params.Model
	clip   float64
	unit   string // the unit of privacy

	mu        sync.Mutex
	child     *child // the running process; nil if no process runs
	answer    answer
	groupOf   []uint32     // the group of each example; nil if the unit is an example
	groups    [][]int      // the examples of each group; nil if the unit is an example
	forget    func() error // removes the CSV file of Parquet data
	failures  int          // the number of failures since the last success
	nextStart time.Time    // the earliest time of the next start
}

// Start starts the trainer of a model. The Trainer clips the gradient of each unit of privacy, an example or a group,
// to the norm p.Clip; 0 means no clipping. If the first HELLO fails, Start fails with ErrTrainer.
func Start(ctx context.Context, c Config, m params.Model, p params.Privacy) (*Trainer, error) {
	if err := c.Check(); err != nil {
		return nil, err
	}
	c.Timeout, c.Pause = cmp.Or(max(c.Timeout, 0), DefaultTimeout), cmp.Or(max(c.Pause, 0), firstPause)
	if c.Log == nil {
		c.Log = func(string, ...any) {}
	}
	c.logged = new(allowance)
	c.Approved = slices.Clone(c.Approved)
	if m.Trainer != "" {
		c.Approved = append(c.Approved, m.Trainer)
	}
	for i, hash := range c.Approved {
		c.Approved[i] = strings.ToLower(hash)
	}
	c.Share.Data = existing(c.Share.Data, c.Dir)
	forget, err := c.plainData(m)
	if err != nil {
		return nil, err
	}
	t := &Trainer{config: c, model: m, clip: p.Clip, unit: p.Unit, forget: forget}
	if err := t.withChild(ctx, func(context.Context, *child) error { return nil }); err != nil {
		t.Close()
		return nil, err
	}
	return t, nil
}

// plainData replaces data that are a Parquet file, which Python does not read, by a CSV file, and returns what removes
// that. A study whose own data are Parquet reads them itself.
func (c *Config) plainData(m params.Model) (forget func() error, err error) {
	path := c.Share.Data
	var study struct{ Data string }
	_ = json.Unmarshal([]byte(m.Config), &study) // the text may be of any form
	if !table.IsParquet(path) || filepath.Ext(study.Data) == ".parquet" {
		return func() error { return nil }, nil
	}
	folder, forget, err := sandbox.Temporary("spdl-data-")
	if err != nil {
		return nil, err
	}
	c.Share.Data = filepath.Join(folder, strings.TrimSuffix(filepath.Base(path), filepath.Ext(path))+".csv")
	if err = table.WriteCSV(path, c.Share.Data); err != nil {
		return nil, errors.Join(err, forget())
	}
	return sync.OnceValue(forget), nil
}

// Len returns the number of units of privacy: examples, or groups.
func (t *Trainer) Len() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.unit == params.UnitGroup {
		return len(t.groups)
	}
	return t.answer.Examples
}

// Close ends the program.
func (t *Trainer) Close() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.child != nil {
		t.child.stop(true)
		t.child = nil
	}
	_ = t.forget() // what stays goes with the next start
}

// ClippedSum sets dst to the sum of the gradients, at x, of the units in picked, each clipped to
// the clip norm. After an error the content of dst is undefined.
func (t *Trainer) ClippedSum(ctx context.Context, dst, x []float64, picked []int) error {
	return t.withChild(ctx, func(ctx context.Context, k *child) error {
		if t.unit == params.UnitGroup {
			return t.groupSum(ctx, k, dst, x, t.examplesOf(picked))
		}
		take := t.sumRows
		if t.model.Clipping == params.ClippingSum {
			take = t.readSum
		}
		return k.ask(ctx, frameGradient, gradientBody(x, picked), func(r *reply) error {
			clear(dst)
			return take(r, dst, len(picked))
		})
	})
}

// Evaluate returns the trainer's evaluation of the model at x. It fails with ErrUnmeasured if the
// trainer does not evaluate models.
func (t *Trainer) Evaluate(ctx context.Context, x []float64) (e Eval, err error) {
	measured := false
	err = t.withChild(ctx, func(ctx context.Context, k *child) error {
		if measured = t.answer.Evaluates; !measured {
			return nil
		}
		return k.ask(ctx, frameEvaluate, appendFloats(nil, x), func(r *reply) error {
			body, err := r.frame(frameEvaluate, maxText)
			if err == nil {
				e, err = decodeEval(body)
			}
			return err
		})
	})
	if err == nil && !measured {
		err = ErrUnmeasured
	}
	return e, err
}

// withChild runs a call to the child, and first starts a child if none runs. The timeout applies to
// the start of the child, and again to the call. A child that fails is stopped, and the first call
// after a pause starts a new child. During the pause withChild fails with ErrTrainer.
func (t *Trainer) withChild(ctx context.Context, call func(context.Context, *child) error) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if wait := time.Until(t.nextStart); t.child == nil && wait > 0 {
		return fmt.Errorf("%w: it starts again after a pause", ErrTrainer)
	}
	inTime := func(do func(context.Context) error) error {
		ctx, cancel := context.WithTimeout(ctx, t.config.Timeout)
		defer cancel()
		return do(ctx)
	}
	err := inTime(t.ensureRunning)
	if err == nil {
		err = inTime(func(ctx context.Context) error { return call(ctx, t.child) })
	}
	if err == nil {
		t.failures = 0
		return nil
	}
	if t.child != nil {
		t.child.stop(false)
		t.child = nil
	}
	pause := min(t.config.Pause<<min(t.failures, 16), longestPause)
	t.failures++
	t.nextStart = time.Now().Add(pause)
	return fmt.Errorf("%w: %w", ErrTrainer, err)
}

// ensureRunning starts a child unless a child runs, and returns when the child has answered HELLO.
func (t *Trainer) ensureRunning(ctx context.Context) (err error) {
	if t.child != nil {
		return nil
	}
	body, err := json.Marshal(hello{
		Protocol: protocolFirst, Protocols: []int{protocolFirst, protocolSecond}, Unit: t.unit, Dimension: t.model.Dim(),
		Clip: t.clip, Clipping: t.model.Clipping, Tensors: t.model.Tensors, Config: t.model.Config, Share: t.config.Share,
	})
	if err != nil {
		return err
	}
	if t.child, err = launch(t.config); err != nil {
		return &StartError{err: err}
	}
	err = t.child.ask(ctx, frameHello, body, func(r *reply) error {
		body, err := r.frame(frameHello, maxText)
		if err != nil {
			return err
		}
		a, err := decodeAnswer(body, t.unit)
		if err == nil && t.answer.Examples > 0 && a.Examples != t.answer.Examples {
			err = fmt.Errorf("it has %d examples after its restart, before %d", a.Examples, t.answer.Examples)
		}
		if err == nil {
			err = compare(a.Tensors, t.model.Tensors)
		}
		if err == nil {
			t.answer, t.child.protocol = a, a.Protocol
		}
		return err
	})
	if err == nil && t.unit == params.UnitGroup {
		err = t.askGroups(ctx)
	}
	return t.startError(err)
}

// sumRows reads n rows, clips each row, and adds the clipped rows to dst. The rows are in one or
// more frames of whole rows.
func (t *Trainer) sumRows(r *reply, dst []float64, n int) error {
	return t.eachRow(r, len(dst), n, func(row []float64, norm float64) {
		factor := privacy.ClipScale(norm, t.clip)
		for j, v := range row {
			dst[j] += v * factor
		}
	})
}

// eachRow reads n rows of d coordinates and calls visit with each row and its norm.
func (t *Trainer) eachRow(r *reply, d, n int, visit func(row []float64, norm float64)) error {
	row := make([]float64, d)
	for got, first := 0, true; got < n || first; first = false {
		if got > 0 {
			r.partial = fmt.Sprintf(": %d of %d rows came, want one for each example, no mean over the batch", got, n)
		}
		body, err := r.frame(frameRows, max(maxRows, 4*d))
		if err != nil {
			return err
		}
		if len(body)%(4*d) != 0 || len(body) == 0 && n > 0 || len(body)/(4*d) > n-got {
			return fmt.Errorf("a frame of rows has %d bytes, want whole rows of %d bytes (%d float32), %d of %d rows are left",
				len(body), 4*d, d, n-got, n)
		}
		for ; len(body) > 0; body = body[4*d:] {
			square := 0.0
			for j := range row {
				row[j] = float64(math.Float32frombits(binary.LittleEndian.Uint32(body[4*j:])))
				square += row[j] * row[j]
			}
			norm := math.Sqrt(square)
			if math.IsNaN(norm) || math.IsInf(norm, 0) {
				return fmt.Errorf("row %d of %d has a coordinate that is no finite number", got, n)
			}
			visit(row, norm)
			got++
		}
	}
	return nil
}

// overClip is the fraction by which the norm of a trainer's sum of n clipped gradients may exceed n
// clip norms, because of float32 rounding.
const overClip = 1e-5

// readSum reads a sum of n clipped gradients into dst. It fails if the norm of the sum shows that
// the trainer did not clip.
func (t *Trainer) readSum(r *reply, dst []float64, n int) error {
	body, err := r.frame(frameSum, 8*len(dst))
	if err != nil {
		return err
	}
	if len(body) != 8*len(dst) {
		return fmt.Errorf("a sum has %d bytes, want %d (%d float64)", len(body), 8*len(dst), len(dst))
	}
	for j := range dst {
		dst[j] = math.Float64frombits(binary.LittleEndian.Uint64(body[8*j:]))
	}
	switch most, norm := float64(n)*t.clip, norm(dst); {
	case math.IsNaN(norm) || math.IsInf(norm, 0):
		return fmt.Errorf("the sum has a coordinate that is no finite number")
	case t.clip > 0 && norm > most*(1+overClip):
		return fmt.Errorf("the sum of %d %s has norm %g, clipped to %g each it is at most %g: the trainer "+
			"does not clip", n, params.Privacy{Unit: t.unit}.Units(), norm, t.clip, most)
	}
	return nil
}
