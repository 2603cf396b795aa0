// Package compare shows runs of training side by side: their curves, and the settings in which they
// differ.
package compare

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"
	"strings"

	cmtjson "github.com/cometbft/cometbft/libs/json"
	"github.com/cometbft/cometbft/types"

	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/app/params"
	"github.com/spdl/spdl/cmd/internal/history"
)

// Run is a chain, or an epoch of it.
type Run struct {
	Name    string            `json:"name"`
	ChainID string            `json:"chain_id"`
	Genesis string            `json:"genesis_hash"`    // SHA-256 of the genesis document
	Epoch   *uint64           `json:"epoch,omitempty"` // nil means all epochs
	Version uint64            `json:"state_machine"`
	People  int               `json:"participants"`
	Tested  int               `json:"test_examples"`
	Model   string            `json:"model"`  // as JSON
	Params  map[string]string `json:"params"` // of the run's last epoch, by path
	// Attacks and Perturbations are those of a localnet's manifest; none of a chain without one.
	Attacks       []string `json:"attacks,omitempty"`
	Perturbations []string `json:"perturbations,omitempty"`
	// Offences counts the proven offences in the rounds of the run, and PassedOver the turns in
	// which a leader did not lead.
	Offences   int      `json:"offences"`
	PassedOver int      `json:"leaders_passed_over"`
	Notes      []string `json:"notes"`
	Points     []Point  `json:"points"`
}

// Point is a closed round of a run. A value is nil where there is none.
type Point struct {
	Round      float64  `json:"round"`   // number of rounds that the run has closed
	Seconds    float64  `json:"seconds"` // since the first round
	Accuracy   *float64 `json:"accuracy"`
	Loss       *float64 `json:"loss"`
	Epsilon    *float64 `json:"epsilon"`    // the largest spend
	Reputation *float64 `json:"reputation"` // the lowest
	Took       *float64 `json:"round_seconds"`
	Delta      *float64 `json:"delta_norm"`
	Included   int      `json:"included"`
	Selected   int      `json:"selected"`
}

// Begun returns the run of a chain, or of one epoch, before its rounds are known. Its model is that of the
// genesis.
func Begun(name string, doc *types.GenesisDoc, epoch *uint64) (Run, error) {
	r, err := identify(name, doc, epoch)
	if err != nil {
		return r, err
	}
	g, err := app.DecodeGenesis(doc.AppState)
	if err != nil {
		return r, err
	}
	text, err := json.Marshal(g.Params.Model)
	r.Model = string(text)
	return r, err
}

// identify returns the fields of a run that say of which chain it is.
func identify(name string, doc *types.GenesisDoc, epoch *uint64) (Run, error) {
	text, err := cmtjson.Marshal(doc)
	if err != nil {
		return Run{}, err
	}
	sum := sha256.Sum256(text)
	return Run{Name: name, ChainID: doc.ChainID, Genesis: hex.EncodeToString(sum[:]), Epoch: epoch,
		Version: doc.ConsensusParams.Version.App, Notes: []string{}}, nil
}

// Of returns a chain's history as a run, or that of one epoch.
func Of(name string, c *history.Chain, doc *types.GenesisDoc, epoch *uint64) (Run, error) {
	r, err := identify(name, doc, epoch)
	if err != nil {
		return r, err
	}
	in := func(e uint64) bool { return epoch == nil || *epoch == e }
	first, last := -1, -1
	for i, x := range c.Rounds {
		if in(x.Epoch) {
			if first < 0 {
				first = i
			}
			last = i
		}
	}
	if first < 0 {
		return r, fmt.Errorf("%w: in epoch %d of chain %s, which has %d", history.ErrEmpty, *epoch, r.ChainID, c.Audit.Epochs)
	}
	rounds := c.Rounds[first : last+1]
	before := 0.0 // rounds of earlier epochs
	if epoch != nil {
		before = rounds[0].At - float64(rounds[0].Round+1)
	}
	for _, x := range rounds {
		r.Points = append(r.Points, point(x, before, x.Time.Sub(rounds[0].Time).Seconds()))
		r.Tested = max(r.Tested, x.Tested)
	}
	r.People = len(rounds[len(rounds)-1].Reputations)
	for _, o := range c.Audit.Offences {
		if in(o.Epoch) {
			r.Offences++
		}
	}
	for _, b := range c.Audit.BadLeaders {
		if in(b.Epoch) {
			r.PassedOver++
		}
	}
	return r, r.describe(c, c.ParamsOf(rounds[len(rounds)-1].Epoch))
}

func point(x history.Round, before, seconds float64) Point {
	p := Point{Round: x.At - before, Seconds: seconds, Accuracy: finite(x.Accuracy), Loss: finite(x.Loss),
		Epsilon: finite(x.Epsilon), Took: finite(x.Took), Delta: finite(x.DeltaNorm), Included: len(x.Contributions),
		Selected: x.Selected()}
	lowest := math.Inf(1)
	for _, y := range x.Reputations {
		lowest = min(lowest, y)
	}
	p.Reputation = finite(lowest)
	return p
}

// describe adds the parameters, and notes that a reader of the numbers needs.
func (r *Run) describe(c *history.Chain, p params.Params) error {
	text, err := json.Marshal(p.Model)
	if err != nil {
		return err
	}
	r.Model = string(text)
	if text, err = json.Marshal(p); err != nil {
		return err
	}
	var tree any
	if err := json.Unmarshal(text, &tree); err != nil {
		return err
	}
	r.Params = map[string]string{}
	flatten(r.Params, "", tree)
	if p.TestChain {
		r.Notes = append(r.Notes, "a test chain: its noise may be known, so epsilon is on paper only")
	}
	if c.Unmeasured != "" {
		r.Notes = append(r.Notes, "models were not measured: "+c.Unmeasured)
	}
	if d := c.Audit.Divergence; d != nil {
		r.Notes = append(r.Notes, fmt.Sprintf("THE REPLAY DIVERGES at height %d, and ends there: %s", d.Height, d.Reason))
	}
	if uint64(len(c.Rounds)) < c.Audit.Rounds {
		r.Notes = append(r.Notes, fmt.Sprintf("%d of %d rounds are measured", len(c.Rounds), c.Audit.Rounds))
	}
	return nil
}

// long is the number of values from which a list is described instead of shown.
const long = 12

// flatten gives each value of a JSON object its path. A list is one value, so lists differ as a
// whole.
func flatten(out map[string]string, path string, x any) {
	object, ok := x.(map[string]any)
	if !ok {
		if text, ok := x.(string); ok {
			out[path] = text
			return
		}
		text, err := json.Marshal(x)
		if err != nil {
			panic(err) // it was JSON
		}
		out[path] = string(text)
		if list, ok := x.([]any); ok && len(list) > long {
			out[path] = fmt.Sprintf("%d values, %.8x", len(list), sha256.Sum256(text))
		}
		return
	}
	for name, y := range object {
		flatten(out, strings.TrimPrefix(path+"."+name, "."), y)
	}
}

func finite(x float64) *float64 {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return nil
	}
	return &x
}
