package mnist_test

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/mnist"
)

// The digests are those of the files that http://yann.lecun.com/exdb/mnist/ distributed,
// uncompressed; data/README.md lists them. Rebuilding the files from what was decoded shows that
// nothing was changed on the way.
func TestEmbeddedIsTheRealMNIST(t *testing.T) {
	data, err := mnist.Embedded()
	require.NoError(t, err)
	assert.Equal(t, []int{60000, 10000}, []int{data.Train.Len(), data.Test.Len()})
	for _, c := range []struct {
		name string
		file []byte
		want string
	}{
		{"train-images", images(60000, 28, 28, data.Train.Images),
			"ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db"},
		{"train-labels", labels(data.Train.Labels...), "65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5"},
		{"t10k-images", images(10000, 28, 28, data.Test.Images),
			"0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7"},
		{"t10k-labels", labels(data.Test.Labels...), "ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2"},
	} {
		digest := sha256.Sum256(c.file)
		assert.Equal(t, c.want, hex.EncodeToString(digest[:]), c.name)
	}
}

func TestEmbeddedIsDecodedOnce(t *testing.T) {
	first, err := mnist.Embedded()
	require.NoError(t, err)
	second, err := mnist.Embedded()
	require.NoError(t, err)
	assert.Same(t, &first.Train.Images[0], &second.Train.Images[0])
}

// Four hospitals share the training set evenly and look at it in 14x14 pixels.
func Example() {
	data, err := mnist.Embedded()
	if err != nil {
		panic(err)
	}
	shards := mnist.PartitionIID(data.Train.Len(), 4, 1)
	mine, err := data.Train.Subset(shards[0]).Features(2, 0, 255)
	if err != nil {
		panic(err)
	}
	fmt.Println(mine.Len(), "examples of", mine.Inputs, "inputs")
	// Output: 15000 examples of 196 inputs
}
