// Package quint replays traces of the model round.qnt on the application.
package quint

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/app/apptest"
	"github.com/spdl/spdl/app/tx"
)

var tracesFlag = flag.String("traces", "testdata/traces.itf.gz", "files of traces in ITF, a pattern")

// play replays a trace. The error names the first step at which application and model differ.
func play(t *trace, k *keyring, seen *census) error {
	c, err := newChain(t, k)
	if err != nil {
		return fmt.Errorf("%s: %w", t.name, err)
	}
	for c.at = range t.States {
		if err := c.step(); err != nil {
			return fmt.Errorf("%s, step %d: %w", t.name, c.at, err)
		}
		if c.at > 0 {
			seen.count(t.States[c.at-1].State, t.States[c.at])
		}
	}
	return nil
}

// step plays the block of a step, and compares verdict and state.
func (c *chain) step() error {
	model := c.trace.States[c.at]
	if c.at > 0 {
		if err := c.execute(model); err != nil {
			return err
		}
	}
	// what no rule changes after an invalid block is the state before it
	if err := difference(c.state(model.State), model.State); err != nil {
		return fmt.Errorf("%w after %s", err, text(model.Block))
	}
	return nil
}

var errDiffers = errors.New("application and model differ")

func (c *chain) execute(model step) error {
	b := model.Block
	for range b.Wait {
		out, err := c.app.Execute(app.Block{Height: c.app.Height + 1})
		if err != nil {
			return fmt.Errorf("%w: an empty block of height %d is rejected: %w", errDiffers, c.app.Height+1, err)
		}
		c.app = out.State
	}
	height := c.app.Height + 1
	if b.Fault == "height" {
		height++
	}
	next := app.Block{Height: height, Txs: c.txs(b)}
	for _, m := range b.Misbehavior {
		address := sha256.Sum256(apptest.ConsensusKey(m.Key))
		next.Misbehavior = append(next.Misbehavior, app.Misbehavior{Type: m.Type, Address: address[:20], Height: m.Height})
	}
	out, err := c.app.Execute(next)
	if (err == nil) != model.Ok {
		return fmt.Errorf("%w: the model's verdict is %v, the application's %w: %s", errDiffers, model.Ok, orValid(err),
			text(b))
	}
	if err != nil {
		return nil
	}
	before := c.app.Progress.Seed
	c.app = out.State
	c.name(b, next)
	if b.Leader != none {
		if want := seed(before, c.before(), b, model.State); !bytes.Equal(want, c.app.Progress.Seed) {
			return fmt.Errorf("%w: seed %X, want %X after %s", errDiffers, c.app.Progress.Seed, want, text(b))
		}
	}
	return nil
}

var errValid = errors.New("valid")

func orValid(err error) error {
	if err == nil {
		return errValid
	}
	return err
}

// name gives the block's new proposals the numbers of the model.
func (c *chain) name(b block, next app.Block) {
	before := c.before()
	serial := before.Serial
	for i, op := range b.Ops {
		if op.Kind == "approve" || op.Kind == "withdraw" || op.Kind == "evidence" || op.Kind == "present" {
			continue
		}
		t := next.Txs[len(next.Txs)-len(b.Ops)+i]
		id := t.ID()
		if op.Kind == "carry" {
			id = [32]byte(t.Body.(*tx.Approve).Proposal)
			known, ok := c.serial[string(id[:])]
			waits := func(p proposal) bool { return p.ID == known }
			if ok && (known >= before.Serial || slices.ContainsFunc(before.Proposals, waits)) {
				continue // the Join waits already
			}
		}
		c.ids[serial], c.serial[string(id[:])] = id[:], serial
		serial++
	}
}

// difference names the first field in which two states or elements of their lists differ.
func difference(got, want any) error {
	a, b := reflect.ValueOf(got), reflect.ValueOf(want)
	for i := range a.NumField() {
		name, x, y := a.Type().Field(i).Name, a.Field(i), b.Field(i)
		if reflect.DeepEqual(x.Interface(), y.Interface()) {
			continue
		}
		if x.Kind() == reflect.Slice && x.Len() == y.Len() && x.Type().Elem().Kind() == reflect.Struct {
			for k := range x.Len() {
				if err := difference(x.Index(k).Interface(), y.Index(k).Interface()); err != nil {
					return fmt.Errorf("%s %d: %w", name, k, err)
				}
			}
		}
		return fmt.Errorf("%w: %s is %s, in the model %s", errDiffers, name, text(x.Interface()), text(y.Interface()))
	}
	return nil
}

func text(x any) string {
	data, err := json.Marshal(x)
	if err != nil {
		return err.Error()
	}
	return string(data)
}

// TestTraces replays the traces of the model on the application. After each step the verdict on the
// block and the abstract state are those of the model, and after each round the seed is that of O6.
func TestTraces(t *testing.T) {
	files, err := filepath.Glob(*tracesFlag)
	require.NoError(t, err)
	require.NotEmpty(t, files, "no traces match %s", *tracesFlag)
	began := time.Now()
	work := make(chan *trace, 16)
	var traces, steps, failed atomic.Int64
	seen := newCensus()
	var workers sync.WaitGroup
	k := newKeyring()
	for range runtime.GOMAXPROCS(0) {
		workers.Go(func() {
			for tr := range work {
				traces.Add(1)
				steps.Add(int64(len(tr.States) - 1))
				if err := play(tr, k, seen); err != nil && failed.Add(1) <= 5 {
					t.Error(err)
				}
			}
		})
	}
	for _, file := range files {
		if err := readTraces(file, func(tr *trace) { work <- tr }); err != nil {
			t.Error(err)
			break
		}
	}
	close(work)
	workers.Wait()
	require.Zero(t, failed.Load(), "of %d traces", traces.Load())
	for name, n := range seen.reached {
		require.Positive(t, n, "no trace reaches %s", name)
	}
	t.Logf("%d traces, %d steps in %s: %v", traces.Load(), steps.Load(), time.Since(began).Round(time.Millisecond),
		seen.reached)
}
