package mnist

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
)

// maxInflation is the most bytes that one byte of a deflate stream can stand for: a match of 258
// bytes takes at least two bits (RFC 1951, section 3.2.5). It turns the length of a compressed file
// into a bound on its content, so that a header cannot ask for memory that the file could never
// fill.
const maxInflation = 1032

// content reads what a file holds once its compression, if there is any, is undone.
type content struct {
	plain []byte       // what is left to read, if zip is nil
	zip   *gzip.Reader // the decompressor, if the file is compressed
	bound int64        // the most bytes that zip can yield
}

// openContent tells a compressed file by gzip's magic number; no IDX file begins with it.
func openContent(b []byte) (*content, error) {
	if !bytes.HasPrefix(b, []byte{0x1f, 0x8b}) {
		return &content{plain: b}, nil
	}
	zip, err := gzip.NewReader(bytes.NewReader(b))
	if err != nil {
		return nil, damage(err)
	}
	return &content{zip: zip, bound: maxInflation * int64(len(b))}, nil
}

// fill reads the next len(dst) bytes.
func (c *content) fill(dst []byte) error {
	if c.zip != nil {
		n, err := io.ReadFull(c.zip, dst)
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return fmt.Errorf("%w: %d bytes, want %d", ErrTruncated, n, len(dst))
		}
		return damage(err)
	}
	if len(c.plain) < len(dst) {
		return fmt.Errorf("%w: %d bytes, want %d", ErrTruncated, len(c.plain), len(dst))
	}
	c.plain = c.plain[copy(dst, c.plain):]
	return nil
}

// rest returns the remaining bytes, which must be exactly total many. It allocates nothing for a
// plain file.
func (c *content) rest(total int64) ([]byte, error) {
	if c.zip == nil {
		switch have := int64(len(c.plain)); {
		case have < total:
			return nil, fmt.Errorf("%w: %d bytes, want %d", ErrTruncated, have, total)
		case have > total:
			return nil, fmt.Errorf("%w: %d bytes, want %d", ErrTrailing, have, total)
		}
		return c.plain[:total:total], nil
	}
	if total > c.bound {
		return nil, fmt.Errorf("%w: %d bytes announced, the compressed file can hold at most %d", ErrTruncated, total, c.bound)
	}
	payload := make([]byte, total)
	if err := c.fill(payload); err != nil {
		return nil, err
	}
	// The stream must end here; reading on also verifies gzip's checksum.
	switch n, err := io.ReadFull(c.zip, make([]byte, 1)); {
	case n > 0:
		return nil, fmt.Errorf("%w: more than %d bytes", ErrTrailing, total)
	case !errors.Is(err, io.EOF):
		return nil, damage(err)
	}
	return payload, nil
}

// damage marks an error of the decompressor, keeping nil.
func damage(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%w: %w", ErrGzip, err)
}
