package tx

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"
	"unicode"

	"github.com/cosmos/gogoproto/proto"
)

// Body is the content of a transaction: a generated message that belongs to a Kind.
type Body interface {
	proto.Message
	Marshal() ([]byte, error)
	Unmarshal([]byte) error
}

// kindTable maps the types of messages to kinds, and kinds to types of messages.
type kindTable struct {
	kinds    map[reflect.Type]Kind
	messages map[Kind]reflect.Type
}

// registry returns the kinds in tx.proto and their messages. Its first call must come after the
// init functions of the generated code, which register the messages.
var registry = sync.OnceValue(func() kindTable {
	k := kindTable{map[reflect.Type]Kind{}, map[Kind]reflect.Type{}}
	for number, name := range Kind_name {
		message := proto.MessageType("spdl.app.tx." + strings.TrimPrefix(name, "Kind"))
		if message != nil {
			k.kinds[message], k.messages[Kind(number)] = Kind(number), message
		}
	}
	return k
})

// KindOf returns the kind of a body, KindNone for a message that belongs to no kind.
func KindOf(body Body) Kind { return registry().kinds[reflect.TypeOf(body)] }

// String returns the kind's name in lower case, with hyphens between its words.
func (k Kind) String() string {
	name, ok := Kind_name[int32(k)]
	if !ok {
		return fmt.Sprintf("kind(%d)", uint32(k))
	}
	var b strings.Builder
	for i, r := range strings.TrimPrefix(name, "Kind") {
		if i > 0 && unicode.IsUpper(r) {
			b.WriteByte('-')
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String()
}

// Kinds returns the kinds that have a message, in the order of their numbers.
func Kinds() []Kind { return slices.Sorted(maps.Keys(registry().messages)) }

// Signed reports whether transactions of the kind carry a signature. Only evidence carries no
// signature: its content has the signatures of two statements.
func (k Kind) Signed() bool { return k != KindEvidence }

// DecodeBody decodes the content of a transaction of the kind k. It fails if the kind is unknown or
// the content is not canonical.
func DecodeBody(k Kind, content []byte) (Body, error) {
	message, ok := registry().messages[k]
	if !ok {
		return nil, fmt.Errorf("%w: %d", ErrUnknownKind, uint32(k))
	}
	if k == KindAggregate {
		if err := leastAggregate.Check(content); err != nil {
			return nil, fmt.Errorf("%s: %w: %w", k, ErrMalformed, err)
		}
	}
	body := reflect.New(message.Elem()).Interface().(Body)
	gradient, ok := body.(*Gradient)
	var payload []byte
	if ok {
		var rest []byte
		if payload, rest, ok = extractField(content, gradientPayload); ok {
			content = rest
		}
	}
	if err := decodeCanonical(body, content); err != nil {
		return nil, fmt.Errorf("%s: %w", k, err)
	}
	if ok {
		gradient.Payload = payload
	}
	return body, nil
}
