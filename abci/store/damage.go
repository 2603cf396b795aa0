package store

import (
	"errors"
	"fmt"

	dbm "github.com/cometbft/cometbft-db"
	cmtstore "github.com/cometbft/cometbft/store"
	leveldb "github.com/syndtr/goleveldb/leveldb/errors"
)

// ErrDamage means that the files of a database are damaged.
var ErrDamage = errors.New("a database is damaged")

// Damage returns an ErrDamage with the given name of a database, the given reason and a remedy.
func Damage(name string, reason any) error {
	return fmt.Errorf("%w: %s: %v: look at the disk; then spdl reset-state --yes, which keeps what the validator and the "+
		"worker have signed, and start: the node syncs again from its peers", ErrDamage, name, reason)
}

// DamageOf returns an ErrDamage with the given name of a database if err is LevelDB's error about
// damaged files. It returns any other err unchanged.
func DamageOf(name string, err error) error {
	for e := err; e != nil; e = errors.Unwrap(e) {
		if leveldb.IsCorrupted(e) {
			return Damage(name, err)
		}
	}
	return err
}

// OpenBlocks opens CometBFT's block store in a database. CometBFT panics on bytes that it cannot
// read; OpenBlocks then returns ErrDamage.
func OpenBlocks(db dbm.DB) (s *cmtstore.BlockStore, err error) {
	defer func() {
		if r := recover(); r != nil {
			s, err = nil, Damage("blockstore", r)
		}
	}()
	return cmtstore.NewBlockStore(db), nil
}
