//go:build !js

package main

import (
	"fmt"
	"os"
)

func main() {
	fmt.Fprintln(os.Stderr, "the verifier runs in a browser: make verify-page builds it for GOOS=js GOARCH=wasm")
	os.Exit(2)
}
