package tx

import "fmt"

// Kind tells the message in an envelope's content. The numbers are part of
// the wire format and are never reused.
type Kind uint32

// The kinds of transaction.
const (
	KindGradient  Kind = 1
	KindAggregate Kind = 2
)

func (k Kind) String() string {
	switch k {
	case KindGradient:
		return "gradient"
	case KindAggregate:
		return "aggregate"
	}
	return fmt.Sprintf("kind(%d)", uint32(k))
}

// Body is the content of a transaction: one of the generated messages.
type Body interface {
	Marshal() ([]byte, error)
	Unmarshal([]byte) error
	kind() Kind
	contentHash(content []byte) [32]byte
}

func (*Gradient) kind() Kind  { return KindGradient }
func (*Aggregate) kind() Kind { return KindAggregate }

func newBody(k Kind) Body {
	switch k {
	case KindGradient:
		return new(Gradient)
	case KindAggregate:
		return new(Aggregate)
	}
	return nil
}
