package mnist

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
)

// maxInflation is the max number of bytes that one byte of a deflate stream can stand for: a match of 258 bytes takes
// at least two bits (RFC 1951, section 3.2.5). With it the length of a compressed file bounds its content, so that a
// header cannot request memory that the file could never fill.
const maxInflation = 1032

// content reads a file's content, decompressed if the file is compressed.
type content struct {
	plain []byte       // unread bytes, if zip is nil
	zip   *gzip.Reader // the decompressor, if the file is compressed
	bound int64        // max number of bytes that zip can yield
}

// openContent opens a file's content. It recognises a compressed file by gzip's magic number, with
// which no IDX file begins.
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

// rest returns the remaining bytes, whose number must be exactly total. It allocates nothing for a plain file.
func (c *content) rest(total int64) ([]byte, error) {
	if err := c.holds(total); err != nil {
		return nil, err
	}
	if c.zip == nil {
		return c.plain[:total:total], nil
	}
	payload := make([]byte, total)
	if err := c.fill(payload); err != nil {
		return nil, err
	}
	return payload, c.end(total)
}

// holds fails if the number of remaining bytes cannot be exactly total. For a compressed file it
// knows only an upper bound.
func (c *content) holds(total int64) error {
	have := int64(len(c.plain))
	switch {
	case c.zip != nil && total > c.bound:
		return fmt.Errorf("%w: %d bytes announced, the compressed file can hold at most %d", ErrTruncated, total, c.bound)
	case c.zip == nil && have < total:
		return fmt.Errorf("%w: %d bytes, want %d", ErrTruncated, have, total)
	case c.zip == nil && have > total:
		return fmt.Errorf("%w: %d bytes, want %d", ErrTrailing, have, total)
	}
	return nil
}

// end fails unless the file ends here, after total bytes. It also verifies gzip's checksum.
func (c *content) end(total int64) error {
	if c.zip == nil {
		return nil // holds has already counted the bytes
	}
	switch n, err := io.ReadFull(c.zip, make([]byte, 1)); {
	case n > 0:
		return fmt.Errorf("%w: more than %d bytes", ErrTrailing, total)
	case !errors.Is(err, io.EOF):
		return damage(err)
	}
	return nil
}

// damage wraps an error of the decompressor in ErrGzip. It returns nil for nil.
func damage(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%w: %w", ErrGzip, err)
}
