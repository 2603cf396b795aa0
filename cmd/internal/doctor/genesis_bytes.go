package doctor

import (
	"encoding/json"
	"reflect"

	"github.com/cometbft/cometbft/types"

	"github.com/spdl/spdl/abci/genesis"
)

// maxGenesis bounds the genesis that a node may send, in bytes.
const maxGenesis = 64 << 20

func parseGenesis(data []byte) (*types.GenesisDoc, error) { return genesis.Read(data) }

// sameJSON reports whether two documents have the same values, in whatever form.
func sameJSON(a, b []byte) bool {
	var x, y any
	return json.Unmarshal(a, &x) == nil && json.Unmarshal(b, &y) == nil && reflect.DeepEqual(x, y)
}
