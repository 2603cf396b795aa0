// Package home is the folder of a node: its configuration, keys, genesis, training data, and the
// worker that these describe. It reads, checks and writes files, and starts nothing.
//
// A home holds CometBFT's files in their usual places (config/config.toml, config/genesis.json,
// config/node_key.json, config/priv_validator_key.json, data/) and ours beside them:
// config/app.toml, config/participant_key.json, data/worker_journal.json.
package home
