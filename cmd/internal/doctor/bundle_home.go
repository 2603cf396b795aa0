package doctor

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/spdl/spdl/abci/home"
	"github.com/spdl/spdl/abci/version"
	"github.com/spdl/spdl/app"
)

// public lists the settings whose texts a bundle may hold, without credentials in addresses. Other
// texts are left out, so a new setting stays secret until this list has it.
var public = strings.Fields(`
	moniker version db_backend db_dir log_level log_format abci mempool.type mempool.wal_dir
	storage.discard_abci_responses tx_index.indexer blocksync.version consensus.wal_file p2p.laddr
	p2p.external_address p2p.seeds p2p.persistent_peers p2p.addr_book_file p2p.unconditional_peer_ids
	p2p.private_peer_ids p2p.gossip p2p.allowed_peers rpc.laddr rpc.grpc_laddr rpc.pprof_laddr
	rpc.cors_allowed_origins rpc.cors_allowed_methods rpc.cors_allowed_headers rpc.tls_cert_file rpc.tls_key_file
	genesis_file priv_validator_key_file priv_validator_state_file priv_validator_laddr node_key_file proxy_app
	statesync.rpc_servers statesync.trust_hash statesync.temp_dir instrumentation.prometheus_listen_addr
	instrumentation.namespace explorer.laddr api.hosts worker.key_file worker.journal worker.partition
	worker.trust_hash
`)

// settings returns every setting, with the texts that are public.
func settings(_ context.Context, n *bundled) ([]byte, error) {
	if n.Invalid != nil {
		return nil, errors.New("the configuration cannot be read: spdl doctor says why")
	}
	var b strings.Builder
	for _, s := range home.Settings(n.Config, n.App) {
		value := s.String()
		if found := texts(s.Value); !slices.Contains(public, s.Key) && strings.Join(found, "") != "" {
			value = removed
		}
		fmt.Fprintf(&b, "%s: %s = %s\n", s.File, s.Key, value)
	}
	return []byte(b.String()), nil
}

func examination(ctx context.Context, n *bundled) ([]byte, error) {
	return json.MarshalIndent(Examine(ctx, n.Home), "", "  ")
}

func programVersion(context.Context, *bundled) ([]byte, error) {
	info, _ := debug.ReadBuildInfo()
	about := map[string]any{"version": version.Version, "app_version": app.Version, "build": info}
	return json.MarshalIndent(about, "", "  ")
}

func host(context.Context, *bundled) ([]byte, error) {
	return json.MarshalIndent(map[string]any{"system": runtime.GOOS + "/" + runtime.GOARCH, "processors": runtime.NumCPU(),
		"kernel": firstLine("/proc/sys/kernel/osrelease"), "memory": firstLine("/proc/meminfo")}, "", "  ")
}

// homeFiles returns the names, sizes and modes of the home's files, and not their contents.
func homeFiles(_ context.Context, n *bundled) ([]byte, error) {
	var b strings.Builder
	err := filepath.WalkDir(n.Dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return nil // compacted away, or not readable
		}
		if info, err := d.Info(); err == nil && !d.IsDir() {
			name, _ := filepath.Rel(n.Dir, path) // it is below
			fmt.Fprintf(&b, "%12d  %v  %s\n", info.Size(), info.Mode(), name)
		}
		return nil
	})
	return []byte(b.String()), err
}
