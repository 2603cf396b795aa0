package params_test

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/app/params"
	"github.com/spdl/spdl/app/preset"
)

// paths returns the paths of a message's fields in JSON.
func paths(of reflect.Type, prefix string) (all []string) {
	for i := range of.NumField() {
		f := of.Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		kind := f.Type
		if kind.Kind() == reflect.Pointer {
			kind = kind.Elem()
		}
		if path := strings.TrimPrefix(prefix+"."+name, "."); kind.Kind() == reflect.Struct {
			all = append(all, paths(kind, path)...)
		} else {
			all = append(all, path)
		}
	}
	return all
}

// TestEveryParameterHasAMeaning: every parameter has a meaning, and every meaning belongs to a
// parameter.
func TestEveryParameterHasAMeaning(t *testing.T) {
	all := paths(reflect.TypeOf(params.Params{}), "")
	require.Len(t, params.Meanings, len(all))
	for _, path := range all {
		require.NotEmpty(t, params.Meanings[path].Text, path)
	}
}

// TestSettings: shares are in percent, the ledger is in nats, and no other number becomes a power
// of ten.
func TestSettings(t *testing.T) {
	p, err := preset.New("default", 10)
	require.NoError(t, err)
	got, err := params.Settings(p)
	require.NoError(t, err)
	require.Equal(t, "100", got["reputation.initial"])
	require.Equal(t, "30", got["reputation.margin"])
	require.Regexp(t, `^\d+ values, from 0\.0\d+ to \d+\.\d+$`, got["privacy.cost"])
	require.Equal(t, "default", got["preset"])
	for name, value := range got {
		require.NotContains(t, value, "e+", name)
	}
}

// TestChanges: every parameter that differs is listed, also if a value in the middle of a long list
// differs, and if only one set of parameters has the parameter.
func TestChanges(t *testing.T) {
	before, err := preset.New("default", 10)
	require.NoError(t, err)
	same, err := params.Changes(before, before)
	require.NoError(t, err)
	require.Empty(t, same)
	after := before
	before.Training.LearningRate, after.Training.LearningRate = 30, 0.5
	after.Rule.Byzantine = 0
	before.Rule.Unsquared = true
	after.Reputation.Initial /= 2
	after.Privacy.Cost = slices.Clone(after.Privacy.Cost)
	after.Privacy.Cost[len(after.Privacy.Cost)/2]++
	got, err := params.Changes(before, after)
	require.NoError(t, err)
	var lines []string
	for _, c := range got {
		lines = append(lines, c.String())
	}
	require.Len(t, lines, 5)
	require.Regexp(t, `^privacy\.cost (.+) \(SHA-256 [0-9a-f]{16}\) -> (.+) \(SHA-256 [0-9a-f]{16}\) nats$`, lines[0])
	require.NotEqual(t, got[0].Before, got[0].After)
	require.Equal(t, []string{"reputation.initial 100 -> 50 %", "rule.byzantine 3 -> 0 participants",
		"rule.unsquared true -> not set", "training.learning_rate 30 -> 0.5"}, lines[1:])
}
