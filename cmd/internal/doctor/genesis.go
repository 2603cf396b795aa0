package doctor

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"reflect"
	"slices"
	"strings"
	"sync"

	"github.com/spdl/spdl/abci/client"
	"github.com/spdl/spdl/abci/databases"
	"github.com/spdl/spdl/abci/home"
	"github.com/spdl/spdl/abci/query"
	"github.com/spdl/spdl/abci/version"
	"github.com/spdl/spdl/app"
)

// genesisFile validates the home's genesis.
func genesisFile(_ context.Context, h *Home) Finding {
	if h.NoGenesis != nil {
		return fail("put the consortium's genesis.json there (spdl consortium start makes it)", "%v", h.NoGenesis)
	}
	_, warnings, err := home.CheckGenesis(h.Genesis)
	switch other := h.otherGenesis(); {
	case other != nil:
		return fail("put the former file back; nothing else, as the journal, is to be moved", "%v", other)
	case err != nil:
		return fail("take the file of another member, whose node runs", "%v", err)
	case len(warnings) > 0:
		return warn("a new epoch sets other values (spdl tx start-epoch)", "%s", strings.Join(warnings, "; "))
	}
	data, err := os.ReadFile(h.Config.GenesisFile())
	if err != nil {
		return fail("make it readable for the node's user", "%v", err)
	}
	return ok("chain %s, SHA-256 of the file %x", h.Genesis.ChainID, sha256.Sum256(data))
}

// otherGenesis returns databases.ErrOtherGenesis if the data of a stopped node began with another genesis. A
// running node has compared both at its start.
func (h *Home) otherGenesis() error {
	if h.runs() || h.NoGenesis != nil {
		return nil
	}
	if err := databases.OtherGenesis(h.Config, h.App); errors.Is(err, databases.ErrOtherGenesis) {
		return err
	}
	return nil // the check databaseLock reports unreadable databases
}

// othersGenesis compares the home's genesis with the genesis of the running node and of the witnesses.
func othersGenesis(ctx context.Context, h *Home) Finding {
	if h.NoGenesis != nil {
		return skip("the home has no genesis")
	}
	asked := map[string]*client.Client{}
	maps.Copy(asked, h.Witnesses)
	if h.runs() {
		asked["its own node"] = h.Client
	}
	if len(asked) == 0 {
		return skip("no node answers: --witness asks one of another member; or compare the SHA-256 by hand")
	}
	names := slices.Sorted(maps.Keys(asked))
	differs, errs := make([]string, len(names)), make([]error, len(names))
	var wg sync.WaitGroup
	for i, name := range names {
		wg.Go(func() { differs[i], errs[i] = h.sameGenesis(ctx, asked[name]) })
	}
	wg.Wait()
	var same, silent []string
	for i, name := range names {
		switch {
		case errs[i] != nil:
			silent = append(silent, fmt.Sprintf("%s: %v", name, errs[i]))
		case differs[i] != "":
			return fail("agree by another channel on one genesis.json, put it there and start; a home that has blocks keeps "+
				"its file while its chain goes on", "%s has %s", name, differs[i])
		default:
			same = append(same, name)
		}
	}
	if len(silent) > 0 {
		return warn("name witnesses whose RPC this host reaches", "%s", strings.Join(silent, "; "))
	}
	return ok("the same as of %s", strings.Join(same, ", "))
}

// sameGenesis returns the part in which the genesis of a node differs, or "".
func (h *Home) sameGenesis(ctx context.Context, c *client.Client) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	theirs, err := c.Genesis(ctx)
	switch {
	case err != nil:
		return "", err
	case theirs.ChainID != h.Genesis.ChainID:
		return fmt.Sprintf("chain %q, the home's genesis is of %q", theirs.ChainID, h.Genesis.ChainID), nil
	case !theirs.GenesisTime.Equal(h.Genesis.GenesisTime) || !bytes.Equal(theirs.ValidatorHash(),
		h.Genesis.ValidatorHash()) || !sameJSON(theirs.AppState, h.Genesis.AppState):
		return "another genesis of the same chain id", nil
	}
	return "", nil
}

// sameJSON reports whether two documents have the same values, in whatever layout.
func sameJSON(a, b []byte) bool {
	var x, y any
	return json.Unmarshal(a, &x) == nil && json.Unmarshal(b, &y) == nil && reflect.DeepEqual(x, y)
}

// program compares this program's state machine version with the chain's, and its release with the running node's.
func program(ctx context.Context, h *Home) Finding {
	if h.runs() {
		info, err := h.Client.RPC().ABCIInfo(ctx)
		switch {
		case err != nil:
			return warn("look at the node's log", "the node does not say what it is: %v", err)
		case info.Response.AppVersion != app.Version:
			return warn("run the doctor of the node's own release", "the node executes version %d of the state machine, this "+
				"program %d", info.Response.AppVersion, app.Version)
		case info.Response.Version != version.Version:
			return warn("restart the node if this program has replaced its own", "the node is spdl %s, this program %s",
				info.Response.Version, version.Version)
		}
		found := fmt.Sprintf("spdl %s, state machine %d, CometBFT %s, as the node that runs", version.Version, app.Version,
			version.CometBFT())
		u, err := client.Ask[query.UpgradeState](ctx, h.Client, "/upgrade")
		if err == nil && u.Planned != nil && u.Planned.Height > u.Height {
			return warn("have the release of that version at hand: the node stops by itself after the height before, and that "+
				"release goes on (docs/OPERATING.md, Upgrade)", "%s; upgrade %q to version %d at height %d, in %d blocks: this "+
				"program is not it", found, u.Planned.Name, u.Planned.Version, u.Planned.Height, u.Planned.Height-u.Height)
		}
		return ok("%s", found)
	}
	if s, err := h.state(); err == nil && s != nil {
		if err := s.Executable(); err != nil {
			return fail("put a release of that version in place, and start it", "at height %d: %v", s.Height, err)
		}
		if _, upgraded := s.Upgraded(); upgraded {
			return ok("spdl %s, state machine %d, as the chain after height %d", version.Version, app.Version, s.Height)
		}
	}
	if h.NoGenesis == nil && h.Genesis.ConsensusParams != nil && h.Genesis.ConsensusParams.Version.App != app.Version {
		return warn("start the release of the chain's version, unless the chain was upgraded", "genesis is of version %d of "+
			"the state machine, this program executes %d", h.Genesis.ConsensusParams.Version.App, app.Version)
	}
	return ok("spdl %s, state machine %d, CometBFT %s", version.Version, app.Version, version.CometBFT())
}
