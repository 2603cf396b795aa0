package command

import (
	"bytes"
	"context"
	"testing"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"
)

// TestInterrupt: a signal is the way to end a service, and a failure of every other command, which is said.
func TestInterrupt(t *testing.T) {
	for _, isService := range []bool{false, true} {
		var out, errs bytes.Buffer
		root := Root("spdl", "Test", &out, &errs)
		cmd := New(&cobra.Command{Use: "run", Short: "Run", Example: "  spdl run", Args: cobra.NoArgs},
			func(r *Run, _ []string) error {
				<-r.Context.Done()
				return r.Context.Err()
			})
		if isService {
			cmd = Service(cmd)
		}
		root.AddCommand(cmd)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		code := Execute(ctx, root, []string{"run"})
		require.Equal(t, map[bool]int{false: Failure, true: 0}[isService], code)
		require.Equal(t, map[bool]string{false: "spdl: interrupted\n"}[isService], errs.String())
	}
}
