package tx

import "fmt"

// Kind tells the message in an envelope's content. The numbers are part of
// the wire format and are never reused.
type Kind uint32

// The kinds of transaction. The first two make rounds; the others change the
// consortium.
const (
	KindGradient   Kind = 1
	KindAggregate  Kind = 2
	KindJoin       Kind = 3
	KindApprove    Kind = 4
	KindLeave      Kind = 5
	KindRotate     Kind = 6
	KindRestore    Kind = 7
	KindRemove     Kind = 8
	KindEvidence   Kind = 9
	KindStartEpoch Kind = 10
)

// kinds names the kinds and makes their messages.
var kinds = map[Kind]struct {
	name string
	body func() Body
}{
	KindGradient:   {"gradient", func() Body { return new(Gradient) }},
	KindAggregate:  {"aggregate", func() Body { return new(Aggregate) }},
	KindJoin:       {"join", func() Body { return new(Join) }},
	KindApprove:    {"approve", func() Body { return new(Approve) }},
	KindLeave:      {"leave", func() Body { return new(Leave) }},
	KindRotate:     {"rotate", func() Body { return new(Rotate) }},
	KindRestore:    {"restore", func() Body { return new(Restore) }},
	KindRemove:     {"remove", func() Body { return new(Remove) }},
	KindEvidence:   {"evidence", func() Body { return new(Evidence) }},
	KindStartEpoch: {"start-epoch", func() Body { return new(StartEpoch) }},
}

func (k Kind) String() string {
	if known, ok := kinds[k]; ok {
		return known.name
	}
	return fmt.Sprintf("kind(%d)", uint32(k))
}

// Signed tells whether transactions of the kind carry a signature. Evidence
// carries those of its two statements, and needs no other.
func (k Kind) Signed() bool { return k != KindEvidence }

// Body is the content of a transaction: one of the generated messages.
type Body interface {
	Marshal() ([]byte, error)
	Unmarshal([]byte) error
	kind() Kind
}

func (*Gradient) kind() Kind   { return KindGradient }
func (*Aggregate) kind() Kind  { return KindAggregate }
func (*Join) kind() Kind       { return KindJoin }
func (*Approve) kind() Kind    { return KindApprove }
func (*Leave) kind() Kind      { return KindLeave }
func (*Rotate) kind() Kind     { return KindRotate }
func (*Restore) kind() Kind    { return KindRestore }
func (*Remove) kind() Kind     { return KindRemove }
func (*Evidence) kind() Kind   { return KindEvidence }
func (*StartEpoch) kind() Kind { return KindStartEpoch }

// DecodeBody reads the content of a transaction of a kind, as Decode does.
func DecodeBody(k Kind, content []byte) (Body, error) {
	known, ok := kinds[k]
	if !ok {
		return nil, fmt.Errorf("%w: %d", ErrUnknownKind, uint32(k))
	}
	if k == KindAggregate {
		if err := leastAggregate.Check(content); err != nil {
			return nil, fmt.Errorf("%s: %w: %w", k, ErrMalformed, err)
		}
	}
	body := known.body()
	if err := decodeCanonical(body, content); err != nil {
		return nil, fmt.Errorf("%s: %w", k, err)
	}
	return body, nil
}
