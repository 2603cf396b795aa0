package audit

import (
	"bufio"
	"compress/gzip"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"

	cmtjson "github.com/cometbft/cometbft/libs/json"
	cmtproto "github.com/cometbft/cometbft/proto/tendermint/types"
	"github.com/cometbft/cometbft/types"

	"github.com/spdl/spdl/abci/genesis"
)

// An archive is a gzip stream of one protobuf message, written and read field by field, in this order:
//
//	message Archive {
//	  bytes    genesis  = 1;                       // genesis.json
//	  repeated tendermint.types.Block blocks = 2;  // from the initial height on, none missing
//	  tendermint.types.Commit commit = 3;          // of the last block, where known
//	  bytes    app_hash = 4;                       // after the last block, where known
//	  uint64   count    = 5;                       // of blocks; a file without it was cut off
//	}
//
// Every field except the last is thus a tag byte, a varint length and that many bytes, and protoc
// --decode reads the whole message.
const (
	tagGenesis = 1<<3 | 2
	tagBlock   = 2<<3 | 2
	tagCommit  = 3<<3 | 2
	tagAppHash = 4<<3 | 2
	tagCount   = 5 << 3
)

// maxField is the max size of a field in bytes, which bounds what a reader allocates: CometBFT's
// largest block and its commit.
const maxField = types.MaxBlockSizeBytes + 8<<20

// ErrArchive means that a file is not a complete archive.
var ErrArchive = errors.New("not a whole archive of a chain")

// WriteArchive writes a source's chain to w and returns the number of its blocks. It checks
// nothing; an audit of the archive does.
func WriteArchive(ctx context.Context, w io.Writer, src Source, each func(blocks uint64, done float64)) (blocks uint64,
	err error) {
	z := gzip.NewWriter(w)
	out := &archiver{bufio.NewWriterSize(z, 1<<20)}
	genesis, err := cmtjson.Marshal(src.Genesis())
	if err == nil {
		err = out.field(tagGenesis, genesis)
	}
	if err != nil {
		return 0, err
	}
	for {
		b, err := src.Next(ctx)
		if errors.Is(err, io.EOF) {
			break
		}
		if err == nil {
			err = out.message(tagBlock, b)
		}
		if err != nil {
			return blocks, err
		}
		blocks++
		if each != nil {
			each(blocks, src.Done())
		}
	}
	tip, err := src.Tip(ctx)
	if err == nil {
		err = out.end(tip, blocks)
	}
	if err != nil {
		return blocks, err
	}
	return blocks, errors.Join(out.Flush(), z.Close())
}

// An archiver writes the fields of an archive.
type archiver struct{ *bufio.Writer }

func (a *archiver) field(tag byte, data []byte) error {
	if _, err := a.Write(binary.AppendUvarint([]byte{tag}, uint64(len(data)))); err != nil {
		return err
	}
	_, err := a.Write(data)
	return err
}

func (a *archiver) message(tag byte, m interface{ Marshal() ([]byte, error) }) error {
	data, err := m.Marshal()
	if err != nil {
		return err
	}
	return a.field(tag, data)
}

// end writes the known fields of the chain's tip, and then the count, without which a file is incomplete.
func (a *archiver) end(tip Tip, blocks uint64) error {
	if tip.Commit != nil {
		if err := a.message(tagCommit, tip.Commit.ToProto()); err != nil {
			return err
		}
	}
	if tip.AppHash != nil {
		if err := a.field(tagAppHash, tip.AppHash); err != nil {
			return err
		}
	}
	_, err := a.Write(binary.AppendUvarint([]byte{tagCount}, blocks))
	return err
}

// Archive is a Source that reads a file written by WriteArchive.
type Archive struct {
	file    io.Closer
	counted *counter
	in      *bufio.Reader
	genesis *types.GenesisDoc
	size    int64
	blocks  uint64
	tip     Tip
}

var _ Source = (*Archive)(nil)

// counter counts the compressed bytes that were read.
type counter struct {
	io.Reader
	n int64
}

func (c *counter) Read(p []byte) (int, error) {
	n, err := c.Reader.Read(p)
	c.n += int64(n)
	return n, err
}

// OpenArchive opens an archive file.
func OpenArchive(path string) (*Archive, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	if info.IsDir() {
		return nil, errors.Join(fmt.Errorf("%s is a folder, want a file of spdl audit archive: --home names the home of a "+
			"stopped node", path), f.Close())
	}
	a, err := NewArchive(f, info.Size())
	if err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", path, err), f.Close())
	}
	a.file = f
	return a, nil
}

// NewArchive returns the archive that r holds. Done needs its compressed size in bytes.
func NewArchive(r io.Reader, size int64) (*Archive, error) {
	a := &Archive{counted: &counter{Reader: r}, size: size}
	z, err := gzip.NewReader(a.counted)
	if err != nil {
		return nil, fmt.Errorf("%w: it is not compressed by gzip, as files of spdl audit archive are: %w", ErrArchive,
			whole(err))
	}
	a.in = bufio.NewReaderSize(z, 1<<20)
	tag, data, err := a.field()
	if err != nil {
		return nil, err
	}
	if tag != tagGenesis {
		return nil, fmt.Errorf("%w: it begins with field tag %d, want the genesis, %d", ErrArchive, tag, tagGenesis)
	}
	if a.genesis, err = genesis.Read(data); err != nil {
		return nil, fmt.Errorf("%w: genesis: %w", ErrArchive, err)
	}
	return a, nil
}

// field reads the next field. The count has no data; field checks it.
func (a *Archive) field() (tag byte, data []byte, err error) {
	if tag, err = a.in.ReadByte(); err != nil {
		return 0, nil, fmt.Errorf("%w: cut off after %d blocks: %w", ErrArchive, a.blocks, whole(err))
	}
	n, err := binary.ReadUvarint(a.in)
	if err != nil {
		return 0, nil, fmt.Errorf("%w: cut off after %d blocks: %w", ErrArchive, a.blocks, whole(err))
	}
	if tag == tagCount {
		if n != a.blocks {
			return 0, nil, fmt.Errorf("%w: it counts %d blocks and holds %d", ErrArchive, n, a.blocks)
		}
		return tag, nil, nil
	}
	if n > uint64(maxField) {
		return 0, nil, fmt.Errorf("%w: field of %d bytes, at most %d", ErrArchive, n, maxField)
	}
	// The buffer grows with the bytes that are read, because the stated length may be false.
	data, err = io.ReadAll(io.LimitReader(a.in, int64(n)))
	if err == nil && uint64(len(data)) < n {
		err = io.ErrUnexpectedEOF
	}
	if err != nil {
		return 0, nil, fmt.Errorf("%w: cut off after %d blocks: %w", ErrArchive, a.blocks, err)
	}
	return tag, data, nil
}

// whole turns io.EOF into io.ErrUnexpectedEOF, because the end of a truncated file is not the end of the chain.
func whole(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// Genesis returns the archived genesis.
func (a *Archive) Genesis() *types.GenesisDoc { return a.genesis }

// Next reads the next block. After the last block it reads the tip and the count, and returns io.EOF.
func (a *Archive) Next(context.Context) (*cmtproto.Block, error) {
	for {
		tag, data, err := a.field()
		if err != nil {
			return nil, err
		}
		switch tag {
		case tagBlock:
			a.blocks++
			b := new(cmtproto.Block)
			if err := b.Unmarshal(data); err != nil {
				return nil, fmt.Errorf("%w: block %d of the archive: %w", ErrDamaged, a.blocks, err)
			}
			return b, nil
		case tagCommit:
			var c cmtproto.Commit
			if err := c.Unmarshal(data); err != nil {
				return nil, fmt.Errorf("%w: commit of the last block: %w", ErrArchive, err)
			}
			if a.tip.Commit, err = types.CommitFromProto(&c); err != nil {
				return nil, fmt.Errorf("%w: commit of the last block: %w", ErrArchive, err)
			}
		case tagAppHash:
			a.tip.AppHash = data
		case tagCount:
			if _, err := a.in.ReadByte(); !errors.Is(err, io.EOF) { // reading to the end also checks gzip's checksum
				return nil, errors.Join(fmt.Errorf("%w: more behind its end", ErrArchive), err)
			}
			return nil, io.EOF
		default:
			return nil, fmt.Errorf("%w: damaged after block %d: field tag %d", ErrArchive, a.blocks, tag)
		}
	}
}

// Tip returns the archived tip.
func (a *Archive) Tip(context.Context) (Tip, error) { return a.tip, nil }

// Done returns the share of the file's bytes that have been read.
func (a *Archive) Done() float64 {
	if a.size <= 0 {
		return 0
	}
	return min(1, float64(a.counted.n)/float64(a.size))
}

// Close closes the file.
func (a *Archive) Close() error {
	if a.file == nil {
		return nil
	}
	return a.file.Close()
}
