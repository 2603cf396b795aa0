// Package home is the folder of a node: configuration, keys, genesis, training data, and the
// configuration of the worker. The package reads, checks and writes files, and starts no node.
//
// A home has CometBFT's files in their usual places (config/config.toml, config/genesis.json,
// config/node_key.json, config/priv_validator_key.json, data/). Next to them it has the files of
// this project: config/app.toml, config/participant_key.json, data/worker_journal.json.
package home
