package trainer

import (
	"embed"
	"io/fs"
)

//go:embed python/spdl_trainer/*.py python/spdl_trainer/py.typed
var python embed.FS

// PackageName is the name of the Python package that speaks the protocol for a trainer.
const PackageName = "spdl_trainer"

// Package returns the files of the Python package, in a folder named PackageName.
func Package() fs.FS {
	files, err := fs.Sub(python, "python")
	if err != nil {
		panic(err) // the folder is embedded
	}
	return files
}
