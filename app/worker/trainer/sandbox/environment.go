package sandbox

import (
	"os"
	"strings"
)

// passed are the variables of the worker's environment that a trainer gets: where programs are, the
// language, the time zone, and how many threads numerical libraries take.
var passed = []string{"PATH", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS",
	"MKL_NUM_THREADS", "CUDA_VISIBLE_DEVICES"}

// environment returns the environment of a trainer, without HOME and TMPDIR, which are its scratch
// folder.
func environment(further []string) (env []string) {
	for _, name := range append(passed, further...) {
		if strings.Contains(name, "=") {
			env = append(env, name)
		} else if value, set := os.LookupEnv(name); set {
			env = append(env, name+"="+value)
		}
	}
	return append(env, "PYTHONDONTWRITEBYTECODE=1")
}
