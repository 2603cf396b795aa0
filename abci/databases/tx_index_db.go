package databases

import (
	"encoding/binary"
	"fmt"
	"io"

	dbm "github.com/cometbft/cometbft-db"
	abcitypes "github.com/cometbft/cometbft/abci/types"
	"github.com/cometbft/cometbft/crypto/tmhash"
	cmtstore "github.com/cometbft/cometbft/store"
	"github.com/cometbft/cometbft/types"
	"google.golang.org/protobuf/encoding/protowire"
)

// txIndexDB is the database of CometBFT's transaction index. Without txIndexDB, CometBFT would store a second copy of
// each whole transaction in the index, under the transaction's hash. The first copy is in the block store. LevelDB
// would then write each byte three more times, and merge tables with random keys. txIndexDB leaves out the bytes of a
// transaction that is larger than a block part, and reads them from the block store.
type txIndexDB struct {
	dbm.DB
	blocks func() dbm.DB // the database of the block store
}

// NewBatch implements dbm.DB.
func (r *txIndexDB) NewBatch() dbm.Batch { return resultBatch{r.DB.NewBatch()} }

type resultBatch struct{ dbm.Batch }

// Set adds a key to the batch. If the value is a transaction's result that is larger than a block
// part, Set leaves out the transaction's bytes.
func (b resultBatch) Set(key, value []byte) error {
	if len(key) == tmhash.Size && len(value) > int(types.BlockPartSizeBytes) {
		short, err := withoutTx(value)
		if err != nil {
			return err
		}
		value = short
	}
	return b.Batch.Set(key, value)
}

// withoutTx returns an encoded abcitypes.TxResult without the transaction's bytes, field 3. It decodes
// nothing, so that it does not copy megabytes.
func withoutTx(result []byte) (short []byte, err error) {
	const tx = 3
	for len(result) > 0 {
		number, _, n := protowire.ConsumeField(result)
		if n < 0 {
			return nil, fmt.Errorf("result of a transaction: %w", protowire.ParseError(n))
		}
		if number != tx {
			short = append(short, result[:n]...)
		}
		result = result[n:]
	}
	return short, nil
}

// Get reads a key, and adds the bytes of a transaction that Set left out. If the transaction's block was dropped, the
// result lacks these bytes. Get returns no error in that case, because CometBFT's index would panic on an error.
func (r *txIndexDB) Get(key []byte) ([]byte, error) {
	value, err := r.DB.Get(key)
	if err != nil || len(key) != tmhash.Size {
		return value, err
	}
	var t abcitypes.TxResult
	if t.Unmarshal(value) != nil || t.Height <= 0 || len(t.Tx) > 0 { // an event's value, or a result with its transaction
		return value, nil
	}
	p := &partsReader{store: cmtstore.NewBlockStore(r.blocks()), height: t.Height}
	if t.Tx, err = p.transaction(t.Index); err != nil {
		return value, nil
	}
	return t.Marshal()
}

// partsReader reads a stored block, and loads only the parts that it needs.
type partsReader struct {
	store     *cmtstore.BlockStore
	height    int64
	offset    int64 // the offset in the block of the next byte to read
	partIndex int   // the index of the part in memory
	part      []byte
}

// transaction returns the transaction with the given index in the block, or an error if a part is missing. In protobuf
// a block is a message of a header and data, and the data are a message of transactions. All these fields have a
// length, so transaction skips the header and earlier transactions unread.
func (p *partsReader) transaction(index uint32) ([]byte, error) {
	const header, data, tx = 1<<3 | 2, 2<<3 | 2, 1<<3 | 2
	n, err := p.readField(header)
	p.offset += n
	if err == nil {
		_, err = p.readField(data)
	}
	for ; err == nil; index-- {
		if n, err = p.readField(tx); err != nil || index == 0 {
			break
		}
		p.offset += n
	}
	if err != nil {
		return nil, err
	}
	raw := make([]byte, n)
	_, err = io.ReadFull(p, raw)
	return raw, err
}

// readField reads a tag and the length after it, and returns the length. It fails if the tag is not the given tag.
func (p *partsReader) readField(tag byte) (int64, error) {
	got, err := p.ReadByte()
	if err != nil {
		return 0, err
	}
	if got != tag {
		return 0, fmt.Errorf("tag %d at byte %d, want %d", got, p.offset-1, tag)
	}
	n, err := binary.ReadUvarint(p)
	if err == nil && n > types.MaxBlockSizeBytes {
		err = fmt.Errorf("length %d at byte %d, want at most %d", n, p.offset, types.MaxBlockSizeBytes)
	}
	return int64(n), err
}

// Read implements io.Reader. It reads at most to the end of a part.
func (p *partsReader) Read(into []byte) (int, error) {
	number := int(p.offset / int64(types.BlockPartSizeBytes))
	if p.part == nil || number != p.partIndex {
		part := p.store.LoadBlockPart(p.height, number)
		if part == nil {
			return 0, io.ErrUnexpectedEOF
		}
		p.partIndex, p.part = number, part.Bytes
	}
	from := min(int(p.offset%int64(types.BlockPartSizeBytes)), len(p.part))
	n := copy(into, p.part[from:])
	if n == 0 {
		return 0, io.ErrUnexpectedEOF
	}
	p.offset += int64(n)
	return n, nil
}

// ReadByte implements io.ByteReader.
func (p *partsReader) ReadByte() (byte, error) {
	var b [1]byte
	_, err := p.Read(b[:])
	return b[0], err
}
