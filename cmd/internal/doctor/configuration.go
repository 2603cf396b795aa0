package doctor

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"slices"
	"strings"

	dbm "github.com/cometbft/cometbft-db"

	"github.com/spdl/spdl/abci/home"
)

// configuration reads both files, and finds settings that are valid but cannot work together.
func configuration(_ context.Context, h *Home) Finding {
	if file := new(fs.PathError); errors.As(h.Invalid, &file) && errors.Is(file, fs.ErrNotExist) {
		return fail("name the home with --home, as in --home ./alice; spdl init makes one", "there is no file %s", file.Path)
	}
	if h.Invalid != nil {
		return fail("correct the key (spdl config set KEY VALUE), or name the home with --home", "%v", h.Invalid)
	}
	w := h.App.Worker
	w.Enabled = w.Enabled && !h.isSigner()
	if data := home.InHome(h.Config, w.Data); w.Enabled && w.Data != "" && w.Data != home.EmbeddedData {
		if _, err := os.Stat(data); err != nil {
			return fail("set worker.data to a folder or file that the node's user can read", "worker.data: %v", err)
		}
	}
	g, err := home.GenesisOf(h.Config)
	if s, locked := h.state(); err == nil && locked == nil && w.Enabled { // a node that runs has the lock
		m, active := g.Params.Model, len(g.Participants)
		if s != nil { // an epoch may have another model
			m, active = s.Params.Model, s.Active()
		}
		if err := w.CheckFit(m, active); err != nil {
			return fail("correct the key (spdl config set KEY VALUE): the worker does not start", "%v", err)
		}
	}
	if h.Config.DBBackend == string(dbm.MemDBBackend) {
		return fail("set db_backend to goleveldb", "db_backend is memdb: a restart loses the chain and the validator's "+
			"last signature")
	}
	if err := home.CheckKeys(h.Config.RootDir); err != nil {
		return warn("correct or remove the key: CometBFT ignores it", "%v", err)
	}
	return ok("config.toml and app.toml are valid")
}

// exposure finds ports that are open to more hosts than a consortium needs.
func exposure(_ context.Context, h *Home) Finding {
	var found []string
	c := h.Config
	if c.RPC.Unsafe {
		found = append(found, "rpc.unsafe is true: a client of RPC can change the node's peers and profile it")
	}
	if slices.Contains(c.RPC.CORSAllowedOrigins, "*") {
		found = append(found, "rpc.cors_allowed_origins has *: any web page can ask the node of a browser's host")
	}
	for _, l := range h.listeners() {
		host, _, err := net.SplitHostPort(hostPort(l[1]))
		if l[0] != "p2p.laddr" && err == nil && host != "localhost" && !net.ParseIP(host).IsLoopback() {
			found = append(found, fmt.Sprintf("%s is %s, which other hosts reach without TLS", l[0], l[1]))
		}
	}
	if !h.App.P2P.MembersOnly {
		found = append(found, "p2p.members_only is false: strangers are let in")
	}
	if len(found) > 0 {
		return warn("listen on 127.0.0.1, and put a proxy in front (docs/CONFIGURATION.md, Ports)", "%s",
			strings.Join(found, "; "))
	}
	return ok("RPC, profiles, metrics and the explorer are for this host, p2p for members")
}

// hostPort returns an address without its scheme.
func hostPort(address string) string { return address[strings.LastIndex(address, "/")+1:] }
