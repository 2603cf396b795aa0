package doctor

import (
	"os"

	"github.com/spdl/spdl/abci/home"
)

// ofSigner lists the checks that apply to the home of a signer, which runs no node.
var ofSigner = []string{"configuration", "genesis", "genesis of others", "program", "keys", "journal", "validator"}

// isSigner reports whether the home is a signer's: it names an address for spdl signer, and has no chain.
func (h *Home) isSigner() bool {
	return h.Invalid == nil && (h.App.Signer.Listen != "" || h.App.Signer.Connect != "") && !h.hasData()
}

// signerState examines the validator's last signature in the home of a signer.
func (h *Home) signerState() Finding {
	_, noKey := os.Stat(h.Config.PrivValidatorKeyFile())
	file := h.Config.PrivValidatorStateFile()
	state, err := home.ReadValidatorState(file)
	switch {
	case h.App.Signer.Connect == "":
		return skip("signer.connect is empty: this signer signs no blocks")
	case noKey != nil:
		return fail("move it here from the node's home, or put it back from a backup", "the signer has no key: %v", noKey)
	case err != nil:
		return fail(home.LostStateRemedy, "%v", err)
	case state.Height == 0:
		return warn("stop the node, and move its data/priv_validator_state.json here; if the validator has never signed, "+
			"spdl signer --never-signed", "%s has no signature: the signer rejects it", file)
	}
	return ok("%s: the last signature is of height %d", file, state.Height)
}
