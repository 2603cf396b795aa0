//go:build js && wasm

// Command verifier is the offline part of spdl verify model, for a browser. The page's worker
// (assets/verify-worker.js) calls its one function with the bytes of a file and the trusted header.
package main

import (
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"syscall/js"

	"github.com/spdl/spdl/abci/light"
	"github.com/spdl/spdl/cmd/internal/modelfile"
	"github.com/spdl/spdl/internal/printable"
)

func main() {
	js.Global().Set("spdlVerify", js.FuncOf(func(_ js.Value, args []js.Value) any {
		data := make([]byte, args[1].Length())
		js.CopyBytesToGo(data, args[1])
		return answer(args[0].String(), data, args[2].String(), args[3].String())
	}))
	select {}
}

// answer returns what the page shows: the text of the verdict, or the reason why there is none, and
// the header that the file states, so that the reader knows which hash to look up.
func answer(name string, data []byte, height, hash string) map[string]any {
	out := map[string]any{"verified": false}
	f, err := modelfile.Open(name, data, "")
	if err == nil {
		out["height"], out["chain"] = f.Card.Height, printable.Text(f.Card.ChainID)
	}
	t, bad := trusted(height, hash)
	if err = errors.Join(err, bad); err != nil {
		return with(out, err)
	}
	v, err := f.Offline(t)
	if err != nil {
		return with(out, err)
	}
	var text strings.Builder
	v.Text(&text)
	out["verified"], out["text"] = true, text.String()
	return out
}

func with(out map[string]any, err error) map[string]any {
	out["reason"] = printable.Text(err.Error())
	return out
}

// trusted reads the fields of the page. If the height is empty, it takes the height of the file's header.
func trusted(height, hash string) (t light.Trust, err error) {
	t.Hash, err = hex.DecodeString(strings.TrimSpace(hash))
	if err != nil || len(t.Hash) != 32 {
		return t, fmt.Errorf("the trusted hash is %.80q, want 64 hex digits: the hash of a block that you trust", hash)
	}
	if height = strings.TrimSpace(height); height == "" {
		return t, nil
	}
	t.Height, err = strconv.ParseInt(height, 10, 64)
	if err != nil || t.Height < 1 {
		return t, fmt.Errorf("the trusted height is %.40q, want a number from 1 on", height)
	}
	return t, nil
}
