package audit_test

import (
	"archive/zip"
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"

	"github.com/cometbft/cometbft/types"
	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/abci/light"
	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/app/apptest"
	"github.com/spdl/spdl/app/tx"
	"github.com/spdl/spdl/cmd/internal/audit"
	"github.com/spdl/spdl/cmd/internal/audit/dossier"
)

// recorded is a chain with an equivocation, a member that joins and one that leaves, a rotation of a
// validator's key, and an upgrade that is planned.
func recorded(t testing.TB) *chain {
	c := newChain(t, 4, apptest.Budgeted(100))
	c.Close(3)
	first := apptest.Gradient(c.State, 3)
	other := *first.Gradient
	other.Payload = bytes.Clone(other.Payload)
	other.Payload[0] ^= 1
	proof, err := tx.NewEvidence(first, apptest.Sign(3, &other))
	require.NoError(t, err)
	c.Add(proof)
	c.Close(2)
	join := apptest.Join(4)
	c.Add(join, apptest.Approve(0, join), apptest.Approve(1, join), apptest.Approve(2, join))
	c.Close(4)
	c.Add(apptest.Sign(2, &tx.Rotate{Participant: 2, Nonce: 1, ConsensusKey: apptest.ConsensusKey(6),
		ConsensusProof: apptest.ConsensusProof(6, 2)}))
	c.Close(3)
	c.Add(apptest.Sign(1, &tx.Remove{Participant: 1, Subject: 1, Nonce: 1}))
	c.Close(4)
	x := apptest.Sign(0, &tx.Upgrade{Participant: 0, Nonce: 1, Name: "next", Height: 100, Version: app.Version + 1})
	c.Add(x, apptest.Approve(2, x), apptest.Approve(3, x))
	c.Close(2)
	return c
}

// continuing is the recorded chain past its upgrade: a round closes with the last block of the old version,
// a join is approved on both sides of the upgrade, and the new version has a rotation and a member that
// leaves.
func continuing(t testing.TB) *chain {
	c := recorded(t)
	join := apptest.Join(5)
	c.Add(join, apptest.Approve(0, join), apptest.Approve(2, join))
	for c.State.Height < 98 {
		c.Add()
	}
	c.Close(1)
	c.State, c.Comet.Version.Consensus.App = c.State.As(app.Version+1), app.Version+1
	c.Close(2)
	c.Add(apptest.Approve(3, join))
	c.Close(3)
	c.Add(apptest.Sign(0, &tx.Rotate{Participant: 0, Nonce: 2, ConsensusKey: apptest.ConsensusKey(7),
		ConsensusProof: apptest.ConsensusProof(7, 0)}))
	c.Close(3)
	return c
}

// nextRelease makes this program that of the next version, until the test ends.
func nextRelease(t testing.TB) {
	app.Version++
	t.Cleanup(func() { app.Version-- })
}

// continued returns the dossier of an upgraded chain: this release's, continued by the next one.
func continued(t testing.TB, c *chain) []byte {
	earlier := dossierOf(t, c)
	nextRelease(t)
	_, e, err := dossier.Verify(t.Context(), earlier, genesisOf(c))
	require.NoError(t, err)
	return dossierOf(t, c, e)
}

// genesisOf trusts the genesis of a chain.
func genesisOf(c *chain) audit.Root { return audit.Founded(c.Doc) }

// dossierOf returns the dossier of a chain, signed by participant 0. It may continue another's dossier.
func dossierOf(t testing.TB, c *chain, earlier ...*dossier.Evidence) []byte {
	e, report, err := dossier.Collect(t.Context(), c.Source(), audit.Options{}, append(earlier, nil)[0])
	require.NoError(t, err)
	require.Nil(t, report.Divergence)
	s, err := dossier.ReadSheet([]byte("participant = 2\norigin = \"two *wards* of <one> hospital\"\n" +
		"risks = \"\"\"few\nrecords\"\"\"\n"))
	require.NoError(t, err)
	signed, err := dossier.SignSheet([]byte("participant = 3\norigin = \"one ward\""), apptest.ChainID, apptest.Key(3))
	require.NoError(t, err)
	of3, err := dossier.ReadSheet(signed)
	require.NoError(t, err)
	data, _, err := dossier.Write(t.Context(), e, "spdl test", []dossier.Sheet{s, of3}, apptest.Key(0))
	require.NoError(t, err)
	return data
}

// root trusts the header of a height of a chain.
func root(c *chain, height int64) audit.Root {
	return func(chainID string, _ *types.LightBlock) (light.Trust, error) {
		b, err := types.BlockFromProto(c.Blocks[height-1])
		if err != nil {
			return light.Trust{}, err
		}
		return light.Trust{ChainID: chainID, Height: height, Hash: b.Hash()}, nil
	}
}

// contents returns the files of an archive.
func contents(t testing.TB, data []byte) map[string]string {
	r, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	require.NoError(t, err)
	out := map[string]string{}
	for _, f := range r.File {
		in, err := f.Open()
		require.NoError(t, err)
		content, err := io.ReadAll(in)
		require.NoError(t, err)
		out[f.Name] = string(content)
	}
	return out
}

// packed returns an archive of files in their order: names and contents by turns.
func packed(t testing.TB, method uint16, files ...string) []byte {
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	for i := 0; i < len(files); i += 2 {
		f, err := w.CreateHeader(&zip.FileHeader{Name: files[i], Method: method})
		require.NoError(t, err)
		_, err = f.Write([]byte(files[i+1]))
		require.NoError(t, err)
	}
	require.NoError(t, w.Close())
	return out.Bytes()
}

func repacked(t testing.TB, c map[string]string) []byte {
	var files []string
	for _, name := range []string{"dossier.html", "dossier.md", "claims.json", "evidence.json", "evidence.json.sig"} {
		files = append(files, name, c[name])
	}
	return packed(t, zip.Store, files...)
}

// TestDossier: any header of the chain is enough, or its genesis; the page says what happened, and
// the same chain gives the same bytes.
func TestDossier(t *testing.T) {
	c := recorded(t)
	data := dossierOf(t, c)
	last := int64(len(c.Blocks))
	for height := int64(1); height <= last; height++ {
		v, _, err := dossier.Verify(t.Context(), data, root(c, height))
		require.NoError(t, err, height)
		require.Equal(t, last, v.Height)
		require.Equal(t, int(c.State.Closed())-1, v.Rounds, "the last header does not prove the last round")
		require.EqualValues(t, 0, *v.Participant)
	}
	v, _, err := dossier.Verify(t.Context(), data, genesisOf(c))
	require.NoError(t, err)
	require.Greater(t, v.Proven, 40)
	require.Positive(t, v.Declared)
	require.Equal(t, data, dossierOf(t, c))

	page := contents(t, data)["dossier.md"]
	for _, want := range []string{
		`participant 3 "node3" committed an offence (gradient) in round 3 of epoch 0`,
		`participant 4 "node4" became a member with the block of height`,
		`participant 1 "node1" left with the block of height`,
		`participant 2 "node2" changed the key of its validator with the block of height`,
		`The upgrade "next" to version`, "two \\*wards\\* of \\<one\\> hospital", "few records",
		"one ward | declared: participant 3, signature verified |", "declared: participant 2, as handed to the author |",
		"Unit of privacy: one example of one participant, added or removed.",
		"| IV 8 |", "| 35(7)(c) |", "filled in part, and declared",
	} {
		require.Contains(t, page, want)
	}
	require.NotRegexp(t, `(?i)\bcompl(y|ies|iant)\b`, page)
	for _, line := range strings.Split(page, "\n") {
		if regexp.MustCompile(`^(- \*\*|\| \d)`).MatchString(line) {
			require.Regexp(t, `(proof|declared): `, line)
		}
	}
}

// TestBitFlips: no bit of an archive can change, whichever release began it.
func TestBitFlips(t *testing.T) {
	c := continuing(t)
	data := continued(t, c)
	r := rand.New(rand.NewPCG(28, 240))
	for range 240 {
		bit := r.IntN(8 * len(data))
		forged := bytes.Clone(data)
		forged[bit/8] ^= 1 << (bit % 8)
		_, _, err := dossier.Verify(t.Context(), forged, root(c, 5))
		require.Error(t, err, "bit %d of byte %d", bit%8, bit/8)
	}
}

// TestEditedSentences: a sentence that says something else is named, in the page that has it.
func TestEditedSentences(t *testing.T) {
	c := continuing(t)
	data := continued(t, c)
	r := rand.New(rand.NewPCG(28, 20))
	claim := regexp.MustCompile(`^(?:- \*\*|\| |<p id="c|<tr id="c)(\d+\.\d+)`)
	for i := range 20 {
		name := []string{"dossier.md", "dossier.html"}[i%2]
		files := contents(t, data)
		lines := strings.Split(files[name], "\n")
		var at []int
		for j, line := range lines {
			if claim.MatchString(line) && strings.ContainsAny(line[20:], "0123456789") {
				at = append(at, j)
			}
		}
		j := at[r.IntN(len(at))]
		id := claim.FindStringSubmatch(lines[j])[1]
		digits := regexp.MustCompile(`\d`).FindAllStringIndex(lines[j][20:], -1)
		d := 20 + digits[r.IntN(len(digits))][0]
		lines[j] = lines[j][:d] + string('0'+(lines[j][d]-'0'+1)%10) + lines[j][d+1:]
		files[name] = strings.Join(lines, "\n")
		_, _, err := dossier.Verify(t.Context(), repacked(t, files), root(c, 5))
		require.ErrorIs(t, err, dossier.ErrDossier)
		require.ErrorContains(t, err, name+": sentence "+id+" says")
		if i == 0 {
			t.Log(err)
		}
	}
	files := contents(t, data)
	files["dossier.md"] += "- **2.1** It was never attacked. *(proof: header 3)*\n"
	_, _, err := dossier.Verify(t.Context(), repacked(t, files), root(c, 5))
	require.ErrorContains(t, err, "does not follow from the proofs")
}

// TestWrongTrust: another hash, a height that is not there, another chain.
func TestWrongTrust(t *testing.T) {
	c := recorded(t)
	data := dossierOf(t, c)
	other := newChain(t, 7)
	other.Close(6)
	_, _, err := dossier.Verify(t.Context(), data, root(other, 5))
	require.ErrorIs(t, err, light.ErrNotTrusted)
	for _, trust := range []light.Trust{{ChainID: "other", Height: 5}, {ChainID: apptest.ChainID, Height: 5000},
		{ChainID: apptest.ChainID, Height: -1}, {ChainID: apptest.ChainID, Height: 5, Hash: make([]byte, 32)}} {
		_, _, err := dossier.Verify(t.Context(), data, func(string, *types.LightBlock) (light.Trust, error) {
			return trust, nil
		})
		require.ErrorIs(t, err, light.ErrNotTrusted, fmt.Sprint(trust))
	}
	_, _, err = dossier.Verify(t.Context(), data, genesisOf(other))
	require.ErrorIs(t, err, light.ErrNotTrusted)
}

// TestSignedSheets: a data sheet with a signature is in a dossier only if the key is its member's and the
// words, the member and the chain are those that the key signed.
func TestSignedSheets(t *testing.T) {
	c := recorded(t)
	of := func(participant uint32, origin string) dossier.Sheet {
		return dossier.Sheet{Participant: participant, Answers: map[string]string{"origin": origin}}
	}
	sign := func(s dossier.Sheet, chain string, key int) dossier.Sheet {
		return s.Sign(chain, apptest.Key(key))
	}
	write := func(s dossier.Sheet) error {
		e, _, err := dossier.Collect(t.Context(), c.Source(), audit.Options{}, nil)
		require.NoError(t, err)
		_, _, err = dossier.Write(t.Context(), e, "spdl test", []dossier.Sheet{s}, apptest.Key(0))
		return err
	}
	good := sign(of(3, "ours"), apptest.ChainID, 3)
	require.NoError(t, write(good))
	edited, moved, half := good, good, good
	edited.Answers, moved.Participant, half.Signer = of(3, "theirs").Answers, 2, nil
	for name, s := range map[string]dossier.Sheet{
		"edited": edited, "of another member": moved, "without a signer": half,
		"by another member": sign(of(3, "ours"), apptest.ChainID, 2),
		"by nobody":         sign(of(3, "ours"), apptest.ChainID, 50),
		"of another chain":  sign(of(3, "ours"), "other", 3),
	} {
		require.ErrorIs(t, write(s), dossier.ErrDossier, name)
	}
	for _, file := range []string{"signer = \"\"", "signature = 3", "signer = \"xy\"", "signer = \"00\""} {
		_, err := dossier.ReadSheet([]byte("participant = 1\n" + file))
		require.ErrorIs(t, err, dossier.ErrSheet, file)
	}
	_, err := dossier.SignSheet([]byte("participant = 1\nsigner = \"00\""), apptest.ChainID, apptest.Key(1))
	require.ErrorIs(t, err, dossier.ErrSheet)
}

// TestUnprovenRound: the dossier names the round that the last block closed, which no header proves,
// and names none once there is one more block.
func TestUnprovenRound(t *testing.T) {
	const lacks = "which no header proves yet; let the chain make one more block"
	c := newChain(t, 4, apptest.Budgeted(100))
	c.Close(3)
	want := fmt.Sprintf("block %d closed round %d of epoch 0, "+lacks, c.State.Height, c.State.Closed()-1)
	data := dossierOf(t, c)
	require.Contains(t, contents(t, data)["dossier.md"], want)
	v, _, err := dossier.Verify(t.Context(), data, root(c, 1))
	require.NoError(t, err)
	require.Equal(t, int(c.State.Closed())-1, v.Rounds)

	c.Add()
	data = dossierOf(t, c)
	require.NotContains(t, contents(t, data)["dossier.md"], lacks)
	v, _, err = dossier.Verify(t.Context(), data, root(c, 1))
	require.NoError(t, err)
	require.Equal(t, int(c.State.Closed()), v.Rounds)
}

// TestNothingToReport: a chain without a closed round has no dossier.
func TestNothingToReport(t *testing.T) {
	c := newChain(t, 4)
	c.Add()
	c.Close(1)
	_, _, err := dossier.Collect(t.Context(), c.Source(), audit.Options{}, nil)
	require.ErrorIs(t, err, dossier.ErrNoRound)
}

// TestUpgradedChain: a release's dossier ends where another version executes the chain. The next release
// does not execute the heights before, and continues that dossier to the end of the chain. Any header of
// either version is enough for a reader.
func TestUpgradedChain(t *testing.T) {
	c := continuing(t)
	first := dossierOf(t, c)
	v, _, err := dossier.Verify(t.Context(), first, root(c, 3))
	require.NoError(t, err)
	require.EqualValues(t, 99, v.Height)
	nextRelease(t)
	_, _, err = dossier.Collect(t.Context(), c.Source(), audit.Options{}, nil)
	require.ErrorIs(t, err, app.ErrVersion)
	require.ErrorContains(t, err, "--after")
	v, e, err := dossier.Verify(t.Context(), first, genesisOf(c))
	require.NoError(t, err)
	data := dossierOf(t, c, e)
	last := int64(len(c.Blocks))
	for height := int64(1); height <= last; height++ {
		v, _, err = dossier.Verify(t.Context(), data, root(c, height))
		require.NoError(t, err, height)
	}
	require.Equal(t, last, v.Height)
	require.Equal(t, int(c.State.Closed())-1, v.Rounds)
	page := contents(t, data)["dossier.md"]
	for _, want := range []string{
		`participant 3 "node3" committed an offence (gradient) in round 3 of epoch 0`,
		`participant 2 "node2" changed the key of its validator with the block of height`,
		fmt.Sprintf(`The upgrade "next" brought version %d of the state machine at height 100`, app.Version),
		`participant 0 "node0" changed the key of its validator with the block of height`,
		`participant 5 "node5" became a member with the block of height 10`,
	} {
		require.Contains(t, page, want)
	}
}

// TestFalseHandover: what the earlier release hands over is compared with the chain before it is used.
func TestFalseHandover(t *testing.T) {
	c := continuing(t)
	first := dossierOf(t, c)
	nextRelease(t)
	fresh := func() *dossier.Evidence {
		_, e, err := dossier.Verify(t.Context(), first, genesisOf(c))
		require.NoError(t, err)
		return e
	}
	for name, forge := range map[string]func(e *dossier.Evidence){
		"none":       func(e *dossier.Evidence) { e.Handover = nil },
		"no state":   func(e *dossier.Evidence) { e.Handover.State = nil },
		"height":     func(e *dossier.Evidence) { e.Handover.Height-- },
		"results":    func(e *dossier.Evidence) { e.Handover.Results[0] ^= 1 },
		"record":     func(e *dossier.Evidence) { e.Handover.Record = e.Records[0] },
		"no record":  func(e *dossier.Evidence) { e.Handover.Record = nil },
		"parameters": func(e *dossier.Evidence) { e.Handover.Params = nil },
		"validators": func(e *dossier.Evidence) { e.Handover.Validators[1] = nil },
		"others": func(e *dossier.Evidence) {
			set, err := newChain(t, 7).Comet.Validators.ToProto()
			require.NoError(t, err)
			e.Handover.Validators[1], err = set.Marshal()
			require.NoError(t, err)
		},
		"state": func(e *dossier.Evidence) {
			s, err := app.DecodeState(e.Handover.Height, e.Handover.State)
			require.NoError(t, err)
			s.Model[0]++
			e.Handover.State = s.Encode()
		},
	} {
		e := fresh()
		forge(e)
		got, report, err := dossier.Collect(t.Context(), c.Source(), audit.Options{}, e)
		if err == nil && report.Divergence == nil {
			_, _, err = dossier.Write(t.Context(), got, "spdl test", nil, apptest.Key(0))
		}
		require.True(t, err != nil || report.Divergence != nil, name)
	}
	other := newChain(t, 4)
	other.Close(1)
	for other.State.Height < 120 {
		other.Add()
	}
	_, _, err := dossier.Collect(t.Context(), other.Source(), audit.Options{}, fresh())
	require.ErrorIs(t, err, audit.ErrHandover)
}

// TestHostileArchives: what is no dossier is rejected, and nothing is inflated.
func TestHostileArchives(t *testing.T) {
	c := recorded(t)
	data := dossierOf(t, c)
	files := contents(t, data)
	bomb := packed(t, zip.Deflate, "dossier.html", strings.Repeat("0", 64<<20), "dossier.md", "", "claims.json", "",
		"evidence.json", "", "evidence.json.sig", "")
	for name, hostile := range map[string][]byte{
		"empty": nil, "text": []byte("dossier"), "cut off": data[:len(data)/2], "cut at the end": data[:len(data)-1],
		"more behind its end": append(bytes.Clone(data), 0), "before its beginning": append([]byte{0}, data...),
		"bomb": bomb, "path": packed(t, zip.Store, "../../dossier.html", "", "dossier.md", "", "claims.json", "",
			"evidence.json", "", "evidence.json.sig", ""),
		"other files": packed(t, zip.Store, "dossier.html", ""),
		"null":        repacked(t, with(files, "evidence.json", "null")),
		"no evidence": repacked(t, with(files, "evidence.json", "{}")),
		"deep":        repacked(t, with(files, "evidence.json", strings.Repeat("[", 1<<20))),
		"no log": repacked(t, with(files, "evidence.json", regexp.MustCompile(`"log":.*"declared"`).ReplaceAllString(
			files["evidence.json"], `"log":null,"declared"`))),
		"counts": repacked(t, with(files, "evidence.json", strings.ReplaceAll(files["evidence.json"], `"total":`,
			`"total":99999999`))),
		"no headers": repacked(t, with(files, "evidence.json", regexp.MustCompile(`"headers":\["[^\]]*\],"log"`).
			ReplaceAllString(files["evidence.json"], `"headers":[],"log"`))),
		"no members": repacked(t, with(files, "evidence.json", regexp.MustCompile(`"members":.*,"headers":\["C`).
			ReplaceAllString(files["evidence.json"], `"members":[],"headers":["C`))),
		"signature": repacked(t, with(files, "evidence.json.sig", "{}")),
	} {
		require.NotEqual(t, data, hostile, name)
		_, _, err := dossier.Verify(t.Context(), hostile, root(c, 5))
		require.ErrorIs(t, err, dossier.ErrDossier, name)
	}
}

// FuzzVerify: an archive in which some bytes of a file, or of the archive itself, were replaced is
// rejected, unless they are what was there. An input is the change alone, so that it is small.
func FuzzVerify(f *testing.F) {
	c := newChain(f, 4)
	c.Close(3)
	data := dossierOf(f, c)
	files := contents(f, data)
	names := []string{"", "claims.json", "dossier.html", "dossier.md", "evidence.json", "evidence.json.sig"}
	for i := range names {
		f.Add(uint8(i), uint32(40*i), uint8(1), []byte("0"))
		f.Add(uint8(i), uint32(0), uint8(0), []byte{})
	}
	f.Add(uint8(4), uint32(strings.Index(files["evidence.json"], `"total":`)+8), uint8(1), []byte("99999999"))
	f.Fuzz(func(t *testing.T, file uint8, at uint32, cut uint8, put []byte) {
		name := names[int(file)%len(names)]
		text := files[name]
		if name == "" {
			text = string(data)
		}
		from := int(at) % len(text)
		text = text[:from] + string(put) + text[min(from+int(cut), len(text)):]
		forged := []byte(text)
		if name != "" {
			forged = repacked(t, with(files, name, text))
		}
		_, _, err := dossier.Verify(t.Context(), forged, root(c, 2))
		if bytes.Equal(forged, data) {
			require.NoError(t, err)
			return
		}
		require.Error(t, err)
	})
}

func with(files map[string]string, name, content string) map[string]string {
	out := map[string]string{name: content}
	for n, c := range files {
		if n != name {
			out[n] = c
		}
	}
	return out
}
