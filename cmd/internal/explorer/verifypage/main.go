// Command verifypage writes the page that verifies exported models into a folder for any web
// server. It is a build tool: make verify-page runs it.
package main

import (
	"fmt"
	"os"

	"github.com/spdl/spdl/cmd/internal/explorer/pages"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: verifypage FOLDER")
		os.Exit(2)
	}
	if err := pages.WriteVerifyPage(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "verifypage:", err)
		os.Exit(1)
	}
}
