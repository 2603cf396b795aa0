package sandbox

import (
	"os"
	"strings"
)

// passedVariables names the variables of the worker's environment that a trainer gets: the path of
// programs, the language, the time zone, and the number of threads that numerical libraries use.
var passedVariables = []string{"PATH", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS",
	"MKL_NUM_THREADS", "CUDA_VISIBLE_DEVICES"}

// environment returns the environment of a trainer without HOME and TMPDIR. The supervisor sets
// these two to the scratch folder.
func environment(further []string) (env []string) {
	for _, name := range append(passedVariables, further...) {
		if strings.Contains(name, "=") {
			env = append(env, name)
		} else if value, set := os.LookupEnv(name); set {
			env = append(env, name+"="+value)
		}
	}
	return append(env, "PYTHONDONTWRITEBYTECODE=1")
}
