package mnist_test

import (
	"crypto/sha256"
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/mnist/features"
)

// What genesis files will hold: a change of the constants or the recipe is another map.
func TestHash(t *testing.T) {
	constants, err := os.ReadFile("features/constants.bin")
	require.NoError(t, err)
	assert.Equal(t, "strokes", features.Name)
	assert.Equal(t, sha256.Sum256(append([]byte("spdl/features/strokes/v1\n"), constants...)), features.Hash())
}
