// Package home reads, checks and writes the files in the folder of a node, its home: configuration,
// keys, genesis, and the settings of the worker. It starts no node.
//
// A home has CometBFT's files in their usual places (config/config.toml, config/genesis.json,
// config/node_key.json, config/priv_validator_key.json, data/). Next to them it has the files of
// this project: config/app.toml, config/participant_key.json, data/worker_journal.json.
package home
