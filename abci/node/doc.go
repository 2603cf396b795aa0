// Package node is a CometBFT node around the application: its files, its
// measured configuration, its start. `spdl start` and the in-process testnet
// run the same code.
//
// A home holds CometBFT's files in their usual places (config/config.toml,
// config/genesis.json, config/node_key.json, config/priv_validator_key.json,
// data/) and ours beside them: config/app.toml, config/participant_key.json,
// data/worker_journal.json.
package node
