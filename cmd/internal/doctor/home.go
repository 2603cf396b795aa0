package doctor

import (
	"context"
	"errors"
	"io/fs"
	"strings"
	"time"

	dbm "github.com/cometbft/cometbft-db"
	"github.com/cometbft/cometbft/config"
	"github.com/cometbft/cometbft/p2p"
	coretypes "github.com/cometbft/cometbft/rpc/core/types"
	"github.com/cometbft/cometbft/types"

	"github.com/spdl/spdl/abci/client"
	"github.com/spdl/spdl/abci/home"
	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/cmd/internal/founding"
)

// askTimeout bounds the time of a request to another member's node. A check has three times as long.
const askTimeout = 5 * time.Second

// Home holds the data that the checks examine.
type Home struct {
	Dir     string
	Config  *config.Config
	App     home.AppConfig
	Invalid error // the error of reading the configuration; Config, App and what follows are then empty

	Genesis   *types.GenesisDoc
	NoGenesis error // the error of reading the genesis

	RPC       string         // the address at which the home's node was asked
	Client    *client.Client // a client of the home's node; nil if the node serves no RPC
	Node      *coretypes.ResultStatus
	Hangs     bool                      // a process has the home's databases, and accepts connections without an answer
	Other     string                    // the id of the node that answers, if that is not the home's node
	Twin      string                    // the address of a node of another home, and "has" or "may have" these keys
	Witnesses map[string]*client.Client // the nodes of other members, by the given address

	System System
}

// Look reads a home, and asks its node if one answers. rpc is the address of the home's node.
func Look(ctx context.Context, dir, rpc string, witnesses map[string]*client.Client) *Home {
	h := &Home{Dir: dir, RPC: rpc, Witnesses: witnesses, System: machine}
	if h.Config, h.App, h.Invalid = home.Load(dir); h.Invalid != nil {
		return h
	}
	h.Genesis, h.NoGenesis = home.ReadGenesis(h.Config)
	if rpc == "" || h.isSigner() {
		return h
	}
	c, err := client.New(rpc)
	if err != nil {
		return h
	}
	h.Client = c
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	status, err := c.RPC().Status(ctx)
	if err != nil {
		h.Hangs = h.isLocked() && errors.Is(ctx.Err(), context.DeadlineExceeded)
		return h
	}
	hidden, _ := home.IsEncrypted(h.Config.NodeKeyFile()) // false without a key
	free := h.lock()                                      // the home's own node has the databases
	idle := (free == nil || errors.Is(free, fs.ErrNotExist)) && h.Config.DBBackend == string(dbm.GoLevelDBBackend)
	switch own := h.publicID(); {
	case own != "" && own != status.NodeInfo.ID():
		h.Other = string(status.NodeInfo.ID())
	case idle && own != "":
		h.Twin = rpc + " has"
	case idle && hidden:
		h.Twin = rpc + " may have"
	default:
		h.Node = status
	}
	return h
}

// nodeID returns the id of the home's node, or "" if its key is encrypted or cannot be read.
func (h *Home) nodeID() p2p.ID {
	key, err := home.NewKeystore(h.Config.RootDir, nil).LoadNodeKey(h.Config.NodeKeyFile())
	if err != nil {
		return ""
	}
	return key.ID()
}

// publicID returns the id of the home's node although its key may be encrypted: the running node's, or the one in
// the entry of the home's founding. It returns "" if neither is known.
func (h *Home) publicID() p2p.ID {
	own := h.nodeID()
	if own == "" && h.runs() {
		return h.Node.NodeInfo.ID()
	}
	if e, err := founding.EntryOf(h.Config.RootDir); own == "" && err == nil {
		id, _, _ := strings.Cut(e.Address, "@")
		return p2p.ID(id)
	}
	return own
}

// encrypted returns the text of a finding that the participant's key is encrypted, or "" if it is not.
func (h *Home) encrypted() string {
	file := home.InHome(h.Config, h.App.Worker.KeyFile)
	if is, err := home.IsEncrypted(file); err != nil || !is {
		return ""
	}
	return file + " is encrypted, and nothing else here says which participant is this home's: the journal does once " +
		"the node has signed a gradient; until then spdl keys show, which asks for the passphrase"
}

// runs reports whether the home's node answers.
func (h *Home) runs() bool { return h.Node != nil }

// away says why a node that does not answer has no figures.
func (h *Home) away() string {
	switch {
	case h.Hangs:
		return "the node hangs: the check databases is about it"
	case h.isLocked():
		return "the node does not answer: the check databases is about it"
	}
	return "the node is stopped"
}

// participants returns the participants of the chain: from the running node, from the databases of
// a stopped node, or from genesis.
func (h *Home) participants(ctx context.Context) ([]app.Participant, error) {
	if h.runs() {
		return h.Client.Participants(ctx)
	}
	if h.NoGenesis != nil {
		return nil, h.NoGenesis
	}
	s, err := h.state()
	if err != nil {
		return nil, err
	}
	if s == nil {
		g, err := app.DecodeGenesis(h.Genesis.AppState)
		return g.Participants, err
	}
	return s.Participants, nil
}

// offences returns the proven offences that the chain has, none before its first block.
func (h *Home) offences(ctx context.Context) ([]app.Offence, error) {
	if h.runs() {
		return h.Client.Evidence(ctx)
	}
	s, err := h.state()
	if s == nil {
		return nil, err
	}
	return s.Offences, nil
}

// state returns the committed state in the databases of a stopped node, nil if there is none.
func (h *Home) state() (*app.State, error) {
	if !h.hasData() {
		return nil, nil
	} else if h.Hangs {
		return nil, errors.New(h.away())
	}
	return home.State(h.Config)
}
