package founding

import "github.com/spdl/spdl/abci/admission"

// Relays returns the relays in a list separated by commas, each as ID@host:port. It returns an error
// that names the first relay of another form.
func Relays(list string) ([]string, error) {
	if err := admission.CheckRelays(list); err != nil {
		return nil, err
	}
	return admission.SplitList(list), nil
}
