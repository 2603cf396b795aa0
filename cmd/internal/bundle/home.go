package bundle

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/spdl/spdl/abci/home"
	"github.com/spdl/spdl/abci/version"
	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/cmd/internal/doctor"
)

// public lists the settings whose texts a bundle may hold, without credentials in addresses. Other
// texts are left out, so a new setting stays secret until this list has it.
var public = map[string]bool{
	"moniker": true, "version": true, "db_backend": true, "db_dir": true, "log_level": true, "log_format": true,
	"abci": true, "mempool.type": true, "mempool.wal_dir": true, "storage.discard_abci_responses": true,
	"tx_index.indexer": true, "blocksync.version": true, "consensus.wal_file": true, "p2p.laddr": true,
	"p2p.external_address": true, "p2p.seeds": true, "p2p.persistent_peers": true, "p2p.addr_book_file": true,
	"p2p.unconditional_peer_ids": true, "p2p.private_peer_ids": true, "p2p.gossip": true, "p2p.allowed_peers": true,
	"rpc.laddr": true, "rpc.grpc_laddr": true, "rpc.pprof_laddr": true, "rpc.cors_allowed_origins": true,
	"rpc.cors_allowed_methods": true, "rpc.cors_allowed_headers": true, "rpc.tls_cert_file": true,
	"rpc.tls_key_file": true, "genesis_file": true, "priv_validator_key_file": true, "priv_validator_state_file": true,
	"priv_validator_laddr": true, "node_key_file": true, "proxy_app": true, "statesync.rpc_servers": true,
	"statesync.trust_hash": true, "statesync.temp_dir": true, "instrumentation.prometheus_listen_addr": true,
	"instrumentation.namespace": true, "explorer.laddr": true, "api.hosts": true, "worker.key_file": true,
	"worker.journal": true, "worker.partition": true, "worker.trust_hash": true,
}

// configuration returns every setting, with the texts that are public.
func configuration(_ context.Context, n *Node) ([]byte, error) {
	if n.Invalid != nil {
		return nil, errors.New("the configuration cannot be read: spdl doctor says why")
	}
	var b strings.Builder
	for _, s := range home.Settings(n.Config, n.App) {
		value := s.String()
		if found := texts(s.Value); !public[s.Key] && strings.Join(found, "") != "" {
			value = removed
		}
		fmt.Fprintf(&b, "%s: %s = %s\n", s.File, s.Key, value)
	}
	return []byte(b.String()), nil
}

func examination(ctx context.Context, n *Node) ([]byte, error) {
	return json.MarshalIndent(doctor.Examine(ctx, n.Home), "", "  ")
}

func programVersion(context.Context, *Node) ([]byte, error) {
	info, _ := debug.ReadBuildInfo()
	return json.MarshalIndent(struct {
		Version string           `json:"version"`
		App     uint64           `json:"app_version"`
		Build   *debug.BuildInfo `json:"build"`
	}{version.Version, app.Version, info}, "", "  ")
}

func host(context.Context, *Node) ([]byte, error) {
	return json.MarshalIndent(struct {
		System     string `json:"system"`
		Processors int    `json:"processors"`
		Kernel     string `json:"kernel"`
		Memory     string `json:"memory"`
	}{runtime.GOOS + "/" + runtime.GOARCH, runtime.NumCPU(), firstLine("/proc/sys/kernel/osrelease"),
		firstLine("/proc/meminfo")}, "", "  ")
}

// disk returns the names, sizes and modes of the home's files, and not their contents.
func disk(_ context.Context, n *Node) ([]byte, error) {
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
