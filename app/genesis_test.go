package app_test

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/app/apptest"
	"github.com/spdl/spdl/app/params"
)

func TestGenesisRoundTrip(t *testing.T) {
	g := apptest.Genesis(4, apptest.Params(4))
	data, err := g.Encode()
	require.NoError(t, err)
	again, err := app.DecodeGenesis(data)
	require.NoError(t, err)
	require.Equal(t, g, again)
	_, err = app.DecodeGenesis([]byte(strings.Replace(string(data), `"learning_rate"`, `"learning_rat"`, 1)))
	require.ErrorContains(t, err, "learning_rat")
	_, err = app.DecodeGenesis([]byte(strings.Replace(string(data), `"rule"`, `"RULE"`, 1)))
	require.ErrorContains(t, err, `params.RULE: ambiguous JSON: name "RULE"`)
	_, err = app.DecodeGenesis([]byte(strings.Replace(string(data), `"reputation": {`,
		`"reputation": {"unseat": true}, "reputation": {`, 1)))
	require.ErrorContains(t, err, "params.reputation is given twice", "another reader would not merge them")
	_, err = app.DecodeGenesis(nil)
	require.ErrorIs(t, err, app.ErrGenesis)
}

// TestGenesisRefuses: each error names the field, the value and the bound.
func TestGenesisRefuses(t *testing.T) {
	for _, c := range []struct {
		want   string
		mutate func(*app.Genesis)
	}{
		{"seed has 31 bytes", func(g *app.Genesis) { g.Seed = g.Seed[:31] }},
		{"participants 0 and 3 have one key", func(g *app.Genesis) {
			g.Participants[3].PubKey, g.Participants[3].Id = g.Participants[0].PubKey, g.Participants[0].Id
		}},
		{"index is 7, want 1", func(g *app.Genesis) { g.Participants[1].Index = 7 }},
		{"pub_key: invalid key: 3 bytes, want 32", func(g *app.Genesis) { g.Participants[1].PubKey = []byte{1, 2, 3} }},
		{"consensus_key: invalid key: 5 bytes, want 32", func(g *app.Genesis) {
			g.Participants[1].ConsensusKey = make([]byte,
				5)
		}},
		{"moniker has 71 bytes", func(g *app.Genesis) { g.Participants[1].Moniker = strings.Repeat("x", 71) }},
		{"reputation is 5", func(g *app.Genesis) { g.Participants[1].Reputation = 5 }},
		{"joined is 4, want 0", func(g *app.Genesis) { g.Participants[1].Joined = 4 }},
		{"want SHA-256 of pub_key", func(g *app.Genesis) { g.Participants[3].Id = g.Participants[0].Id }},
		{"participants 1 and 2 have one key", func(g *app.Genesis) { g.Participants[2].VrfKey = g.Participants[1].VrfKey }},
		{"participants 1 and 2 have one key", func(g *app.Genesis) {
			g.Participants[2].ConsensusKey = g.Participants[1].ConsensusKey
		}},
		{"vrf_key: invalid key", func(g *app.Genesis) { g.Participants[2].VrfKey = make([]byte, 32) }},
		{"want printable ASCII", func(g *app.Genesis) { g.Participants[2].Moniker = "a\x1b[2J" }},
		{"byte 0xFF at 0", func(g *app.Genesis) { g.Participants[2].Address = "\xff" }},
		{"settled_round is 1, want 0: a genesis sets keys", func(g *app.Genesis) { g.Participants[2].SettledRound = 1 }},
		{"reputation.initial is 0", func(g *app.Genesis) {
			g.Params.Reputation.Initial = 0
			for i := range g.Participants {
				g.Participants[i].Reputation = 0
			}
		}},
		{"20 participants takes blocks of", func(g *app.Genesis) {
			*g = apptest.Genesis(20, apptest.Params(20))
			g.Params.Model, g.Params.Grid, g.Params.Rule.Tolerance = params.Model{Kind: params.ModelSoftmax, Inputs: 1_048_000,
				Classes: 2, Pool: 1, PixelScale: 255}, params.Grid{Width: 2, Step: 1e-5}, 1
		}},
		{"cannot aggregate", func(g *app.Genesis) {
			g.Params.Rule.Name = "krum"
			g.Participants = g.Participants[:1]
			g.Params.Rule.Byzantine = 0
		}},
	} {
		g := apptest.Genesis(4, apptest.Params(4))
		c.mutate(&g)
		_, err := g.Validate()
		require.ErrorIs(t, err, app.ErrGenesis, c.want)
		require.ErrorContains(t, err, c.want)
	}
}

func TestHexBytes(t *testing.T) {
	var b app.HexBytes
	require.Error(t, b.UnmarshalText([]byte("xy")))
	require.NoError(t, b.UnmarshalText([]byte("0aff")))
	require.Equal(t, app.HexBytes{10, 255}, b)
}

// TestCheckValidators: each participant's consensus key must belong to a genesis validator with the
// power that the chain later removes. A participant without a consensus key needs no validator.
func TestCheckValidators(t *testing.T) {
	g := apptest.Genesis(3, apptest.Params(3))
	g.Participants[2].ConsensusKey = nil
	power := map[string]int64{string(g.Participants[0].ConsensusKey): app.Power,
		string(g.Participants[1].ConsensusKey): app.Power}
	require.NoError(t, g.CheckValidators(power))
	power[string(g.Participants[1].ConsensusKey)]++
	require.ErrorContains(t, g.CheckValidators(power),
		`participant 1 ("node1") names a consensus key whose validator has power 11, want 10`)
	require.ErrorIs(t, g.CheckValidators(nil), app.ErrGenesis)
}

// TestGenesisParticipantIsUntouched: a genesis sets no field of a participant but keys, names, node ids and vrf_proof.
func TestGenesisParticipantIsUntouched(t *testing.T) {
	free := []string{"Moniker", "Address", "ConsensusKey", "VrfProof", "NodeIds"}
	kind := reflect.TypeFor[app.Participant]()
	for i := range kind.NumField() {
		name := kind.Field(i).Name
		if slices.Contains(free, name) {
			continue
		}
		g := apptest.Genesis(4, apptest.Params(4))
		switch field := reflect.ValueOf(&g.Participants[1]).Elem().Field(i); field.Kind() {
		case reflect.Bool:
			field.SetBool(!field.Bool())
		case reflect.Slice:
			field.Set(reflect.Append(field, reflect.Zero(field.Type().Elem())))
		case reflect.Int64:
			field.SetInt(field.Int() + 1)
		default:
			field.SetUint(field.Uint() + 1)
		}
		_, err := g.Validate()
		require.ErrorIs(t, err, app.ErrGenesis, name)
	}
}

// TestGenesisRefusesAmbiguousValues: null, -0 and base64 with a line break are read differently by other decoders.
func TestGenesisRefusesAmbiguousValues(t *testing.T) {
	data, err := apptest.Genesis(4, apptest.Params(4)).Encode()
	require.NoError(t, err)
	for _, c := range []struct{ old, new, says string }{
		{`"index": 0`, `"index": -0`, "participants[0].index: ambiguous value: -0 is -0, want 0"},
		{`"rounds": 50,`, `"weight_decay": -0.0, "rounds": 50,`, "params.training.weight_decay: ambiguous value: -0.0 is"},
		{`"moniker": "node1"`, `"moniker": null`, "participants[1].moniker: ambiguous value: null"},
		{`"participants": [`, `"participants": [null, `, "participants[0]: ambiguous value: null"},
		{`"pub_key": "`, `"pub_key": "\n`, "participants[0].pub_key: ambiguous value: \"\\n"},
		{`"vrf_key": "`, `"vrf_key": "\u000d\n`, "has a line break"},
	} {
		text := strings.Replace(string(data), c.old, c.new, 1)
		require.NotEqual(t, string(data), text, c.old)
		_, err := app.DecodeGenesis([]byte(text))
		require.ErrorIs(t, err, app.ErrGenesis, c.new)
		require.ErrorContains(t, err, c.says)
	}
}
