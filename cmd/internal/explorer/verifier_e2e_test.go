//go:build e2e

package explorer_test

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/cometbft/cometbft/crypto/ed25519"
	cmtversion "github.com/cometbft/cometbft/proto/tendermint/version"
	"github.com/cometbft/cometbft/types"
	"github.com/cometbft/cometbft/version"
	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/abci/client"
	"github.com/spdl/spdl/abci/proof"
	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/app/apptest"
	"github.com/spdl/spdl/app/params"
	"github.com/spdl/spdl/cmd/internal/explorer/pages"
	"github.com/spdl/spdl/cmd/internal/modelfile"
	"github.com/spdl/spdl/cmd/internal/modelfile/fetch"
)

// choose sets the page's file field to a file on disk, as a person does, and waits for the verdict.
func (b *browser) choose(path, height, hash string) (state, text string) {
	b.t.Helper()
	b.trust(height, hash)
	b.eval("document.getElementById('file').value = ''") // else the same file again is no change
	b.call("DOM.enable", map[string]any{})
	var doc struct{ Root struct{ NodeID int } }
	require.NoError(b.t, json.Unmarshal(b.call("DOM.getDocument", map[string]any{}), &doc))
	var field struct{ NodeID int }
	require.NoError(b.t, json.Unmarshal(b.call("DOM.querySelector", map[string]any{"nodeId": doc.Root.NodeID,
		"selector": "#file"}), &field))
	b.call("DOM.setFileInputFiles", map[string]any{"nodeId": field.NodeID, "files": []string{path}})
	return b.verdict()
}

// trust types a height and a hash.
func (b *browser) trust(height, hash string) {
	b.t.Helper()
	b.eval(fmt.Sprintf("document.getElementById('verdict').dataset.state='';"+
		"document.getElementById('height').value=%q;document.getElementById('hash').value=%q;"+
		"document.getElementById('hash').dispatchEvent(new Event('input'))", height, hash))
}

func (b *browser) verdict() (state, text string) {
	b.t.Helper()
	b.until("['ok','refused'].includes(document.getElementById('verdict').dataset.state)")
	return fmt.Sprint(b.eval("document.getElementById('verdict').dataset.state")),
		fmt.Sprint(b.eval("document.getElementById('verdict').innerText"))
}

func (b *browser) ready() {
	b.t.Helper()
	b.until("document.getElementById('verifier').dataset.ready === 'yes'")
}

// largest returns a file of the largest model that a chain may have, and the hash of its header.
func largest(t *testing.T) (*modelfile.File, string) {
	t.Helper()
	s := apptest.State(4, func(p *params.Params) { p.Model.Inputs, p.Model.Classes = 65535, 32 })
	out, err := s.Execute(app.Block{Height: s.Height + 1, Txs: apptest.Close(s, s.Height+1)})
	require.NoError(t, err)
	s = out.State
	var history proof.History
	require.NoError(t, history.Grow(1, func(after *app.Record, yield func(*app.Record) bool) error {
		if after == nil {
			yield(out.Record)
		}
		return nil
	}))
	var bundle proof.Bundle
	bundle.Round, err = history.Round(s, out.Record)
	require.NoError(t, err)
	for key, p := range map[string]*proof.Proven{"progress": &bundle.Progress, "params": &bundle.Params,
		"epochs": &bundle.Epochs, "participants": &bundle.Participants} {
		*p, err = proof.State(s, key)
		require.NoError(t, err)
	}
	v := types.NewMockPVWithParams(ed25519.GenPrivKeyFromSecret([]byte("one")), false, false)
	set := types.NewValidatorSet([]*types.Validator{types.NewValidator(v.PrivKey.PubKey(), 10)})
	appHash := s.Hash()
	parts := types.PartSetHeader{Total: 1, Hash: make([]byte, 32)}
	h := &types.Header{
		Version: cmtversion.Consensus{Block: version.BlockProtocol}, ChainID: apptest.ChainID, Height: int64(s.Height) + 1,
		Time: time.Now().UTC(), AppHash: appHash[:], ValidatorsHash: set.Hash(), NextValidatorsHash: set.Hash(),
		ProposerAddress: set.Validators[0].Address,
		LastBlockID:     types.BlockID{Hash: make([]byte, 32), PartSetHeader: parts},
	}
	id := types.BlockID{Hash: h.Hash(), PartSetHeader: parts}
	sig := types.MakeVoteNoError(t, v, h.ChainID, 0, h.Height, 0, 2, id, h.Time).CommitSig()
	f, err := modelfile.New(s.Model, &types.LightBlock{ValidatorSet: set, SignedHeader: &types.SignedHeader{Header: h,
		Commit: &types.Commit{Height: h.Height, BlockID: id, Signatures: []types.CommitSig{sig}}}}, bundle)
	require.NoError(t, err)
	return f, hex.EncodeToString(h.Hash())
}

// TestBrowserVerifies: the page of an explorer and the folder for any web server accept true files
// and no other, say why, and break at none.
func TestBrowserVerifies(t *testing.T) {
	dir, err := os.MkdirTemp("", "spdl-verify-")
	require.NoError(t, err)
	require.NoError(t, pages.WriteVerifyPage(filepath.Join(dir, "page")), "make verify-page builds the verifier")
	rpc := attacked(t, 1000)
	base := serve(t, rpc, "")
	c, err := client.New(rpc)
	require.NoError(t, err)
	var f *modelfile.File
	require.Eventually(t, func() bool {
		f, err = fetch.File(t.Context(), c, 0, 2, nil)
		return err == nil
	}, patience, 100*time.Millisecond)
	own, err := f.Header()
	require.NoError(t, err)
	hash := hex.EncodeToString(own.Hash())
	write := func(name string, data []byte) string {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, data, 0o600))
		return path
	}
	files := map[string][]byte{}
	for _, format := range modelfile.Formats() {
		files[format], err = f.Encode(format)
		require.NoError(t, err)
	}

	b := chromium(t)
	b.call("Page.addScriptToEvaluateOnNewDocument",
		map[string]any{"source": `window.wrong=[];addEventListener("securitypolicyviolation",` +
			`e=>wrong.push(e.violatedDirective+" "+e.blockedURI));addEventListener("error",e=>wrong.push(String(e.message)));`})

	// An explorer's page: a file is dropped, and the explorer fills in the hash of its header.
	b.open(base + "/verify")
	b.ready()
	t.Log(b.eval("document.getElementById('loading').textContent"))
	b.eval(`fetch('/v1/models/0/2?format=safetensors').then(r => r.blob()).then(x => { const d = new DataTransfer();
		d.items.add(new File([x], '<img src=x onerror=window.hit=1>.safetensors'));
		dispatchEvent(new DragEvent('drop', {dataTransfer: d})); })`)
	state, text := b.verdict()
	require.Equal(t, "ok", state, text)
	require.Contains(t, text, "<img src=x onerror=window.hit=1>.safetensors")
	b.shot(filepath.Join(dir, "explorer.png"))

	// The folder, from a server that knows nothing of it. It names every fault, and needs no network.
	alone := httptest.NewServer(http.FileServer(http.Dir(filepath.Join(dir, "page"))))
	t.Cleanup(alone.Close)
	b.open(alone.URL)
	b.ready()
	t.Log(b.eval("document.getElementById('loading').textContent"))
	b.call("Network.enable", map[string]any{})
	b.call("Network.emulateNetworkConditions", map[string]any{"offline": true, "latency": 0, "downloadThroughput": -1,
		"uploadThroughput": -1})
	for format, data := range files {
		path := write("true."+format, data)
		state, text := b.choose(path, "", hash)
		require.Equal(t, "ok", state, "%s: %s", format, text)
		for _, part := range []string{"model after epoch 0 round 2", f.Card.ChainID, hash, f.Card.ModelHash, "epsilon"} {
			require.Contains(t, text, part, format)
		}
		b.shot(filepath.Join(dir, format+".png"))
		for _, at := range []int{0, 9, len(data) / 10, len(data) / 2, len(data) - 100, len(data) - 1} {
			bad := bytes.Clone(data)
			bad[at] ^= 1
			state, text = b.choose(write(fmt.Sprintf("bad-%d.%s", at, format), bad), "", hash)
			require.Equal(t, "refused", state, "%s, byte %d: %s", format, at, text)
		}
		b.shot(filepath.Join(dir, format+"-forged.png"))
		other := strings.Repeat("ab", 32)
		state, text = b.choose(path, "", other)
		require.Equal(t, "refused", state, text)
		require.Contains(t, text, "trusted is "+strings.ToUpper(other))
		require.Contains(t, text, fmt.Sprintf("block %d of chain %s", f.Card.Height, f.Card.ChainID))
		b.trust(fmt.Sprint(f.Card.Height+1), hash)
		b.eval("document.getElementById('go').click()")
		state, text = b.verdict()
		require.Equal(t, "refused", state, text)
	}
	for name, data := range map[string][]byte{"empty.npz": {}, "bomb.npz": bytes.Repeat([]byte("PK\x03\x04"), 1<<20),
		"deep.safetensors": append([]byte{0, 0, 64, 0, 0, 0, 0, 0, '{'}, strings.Repeat("[", 1<<22)...)} {
		state, text := b.choose(write(name, data), "", hash)
		require.Equal(t, "refused", state, text)
		require.Contains(t, text, name)
	}
	require.NoError(t, os.Truncate(write("long.npz", nil), modelfile.MaxBytes+1))
	state, text = b.choose(filepath.Join(dir, "long.npz"), "", hash)
	require.Equal(t, "refused", state, text)
	require.Contains(t, text, "at most 134.2 MB")
	large, itsHash := largest(t)
	for _, format := range modelfile.Formats() {
		data, err := large.Encode(format)
		require.NoError(t, err)
		state, text = b.choose(write("large."+format, data), "", itsHash)
		require.Equal(t, "ok", state, text)
		require.Contains(t, text, "2097152 parameters")
		t.Log(format, text[strings.LastIndex(text, "Checked"):])
	}
	require.Equal(t, "[]", b.eval("JSON.stringify(window.wrong)"))
	require.Equal(t, "undefined", b.eval("typeof window.hit"))
	b.call("Network.emulateNetworkConditions", map[string]any{"offline": false, "latency": 0, "downloadThroughput": -1,
		"uploadThroughput": -1})

	axe, err := os.ReadFile("testdata/axe.min.js")
	require.NoError(t, err)
	for _, width := range []int{390, 1280} {
		for _, scheme := range []string{"light", "dark"} {
			b.call("Emulation.setDeviceMetricsOverride", map[string]any{"width": width, "height": 1100, "deviceScaleFactor": 1,
				"mobile": width < 500})
			b.call("Emulation.setEmulatedMedia", map[string]any{"features": []map[string]string{{
				"name": "prefers-color-scheme", "value": scheme}}})
			for name, address := range map[string]string{"explorer": base + "/verify", "alone": alone.URL} {
				b.open(address)
				b.ready()
				for kind, path := range map[string]string{"true": "true.npz", "forged": "bad-0.npz"} {
					b.choose(filepath.Join(dir, path), "", hash)
					require.LessOrEqual(t, b.eval("document.documentElement.scrollWidth"), float64(width))
					b.eval(string(axe) + ";1")
					require.Equal(t, "[]", b.eval(`axe.run(document).then(r => JSON.stringify(r.violations.map(v => v.id + ": " + `+
						`v.nodes.map(n => n.target.join(" ") + " " + n.failureSummary).slice(0, 2).join(" | "))))`), name)
					b.shot(filepath.Join(dir, fmt.Sprintf("%s-%s-%d-%s.png", name, kind, width, scheme)))
				}
			}
		}
	}
}
