package main

import (
	"crypto/sha256"
	"encoding/hex"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The strokes are exact on every machine: grey levels are rounded to whole numbers, and none of
// these 2.4 million lies as near to a half as the last bits of exp reach.
func TestGlyphsAreTheSameToTheBit(t *testing.T) {
	h := sha256.New()
	for i := range 1000 {
		for _, image := range glyph(i) {
			h.Write(image)
		}
	}
	assert.Equal(t, "a66ac395e75febb99ee8a0fdf2c2f34172b5363cb6a645c60f7a07503e969dc0", hex.EncodeToString(h.Sum(nil)))
}

// A glyph fills its extent, stands in the middle, and its variants differ.
func TestGlyphs(t *testing.T) {
	for i := range 50 {
		images := glyph(i)
		assert.NotEqual(t, images[0], images[1])
		for _, image := range images {
			total, y, x := 0.0, 0.0, 0.0
			for at, level := range image {
				total += float64(level)
				y += float64(level) * float64(at/side)
				x += float64(level) * float64(at%side)
			}
			require.Positive(t, total)
			// Ink saturates where points crowd, so that its centre is not theirs: it stays near it.
			assert.InDelta(t, (side-1)/2.0, y/total, extent/4.0, "glyph %d", i)
			assert.InDelta(t, (side-1)/2.0, x/total, extent/4.0, "glyph %d", i)
		}
	}
}
