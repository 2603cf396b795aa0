package signer

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spdl/spdl/internal/newfile"
	"github.com/spdl/spdl/internal/unixsocket"
)

// These are the names of the files in a folder of certificates: the certificate and the key of this
// side of the connection, and the certificate of the other side.
const (
	OwnCertificate  = "own.crt"
	OwnKey          = "own.key"
	PeerCertificate = "peer.crt"
)

// Files returns the paths of the files in a folder of certificates.
func Files(folder string) []string {
	return []string{filepath.Join(folder, OwnCertificate), filepath.Join(folder, OwnKey),
		filepath.Join(folder, PeerCertificate)}
}

// splitAddress splits an address into its scheme (unix or tcp) and the rest, which is a path or
// host:port. It fails if the address has another form.
func splitAddress(address string) (scheme, rest string, err error) {
	scheme, rest, ok := strings.Cut(address, "://")
	switch {
	case ok && scheme == "unix" && filepath.IsAbs(rest):
		return scheme, rest, nil
	case ok && scheme == "tcp":
		if _, _, err := net.SplitHostPort(rest); err == nil {
			return scheme, rest, nil
		}
	}
	return "", "", fmt.Errorf("signer's address is %q, want unix:///run/spdl/signer.sock or tcp://host:port", address)
}

// CheckAddress accepts only an address of the form unix://PATH or tcp://HOST:PORT.
func CheckAddress(address string) error {
	_, _, err := splitAddress(address)
	return err
}

// NeedsCertificates reports whether connections to the given address use TLS. Connections over TCP do.
func NeedsCertificates(address string) bool { return strings.HasPrefix(address, "tcp://") }

// dialer returns a function that connects to an address, over a Unix socket or by TLS over TCP.
func dialer(address, certificates string) (func(context.Context) (net.Conn, error), error) {
	scheme, at, err := splitAddress(address)
	if err != nil {
		return nil, err
	}
	dial := &net.Dialer{}
	if scheme == "unix" {
		return func(ctx context.Context) (net.Conn, error) { return dial.DialContext(ctx, "unix", at) }, nil
	}
	conf, err := tlsConfig(certificates)
	if err != nil {
		return nil, err
	}
	over := &tls.Dialer{NetDialer: dial, Config: conf}
	return func(ctx context.Context) (net.Conn, error) { return over.DialContext(ctx, "tcp", at) }, nil
}

// Listen listens at the given address. A Unix socket accepts only processes of this user and of the
// listed user ids. TCP with TLS accepts only the peer whose certificate is in the folder
// certificates. The function log gets the rejected connections of a Unix socket.
func Listen(address, certificates string, users []uint32, log func(string, ...any)) (net.Listener, error) {
	scheme, at, err := splitAddress(address)
	if err != nil {
		return nil, err
	}
	if scheme == "tcp" {
		conf, err := tlsConfig(certificates)
		if err != nil {
			return nil, err
		}
		return tls.Listen("tcp", at, conf)
	}
	return unixsocket.Listen(at, users, log)
}

// tlsConfig returns the TLS 1.3 configuration of a node or of a signer, from the folder of its certificates. Each side
// compares the other side's certificate, byte for byte, with the certificate in its folder.
func tlsConfig(folder string) (*tls.Config, error) {
	own, err := tls.LoadX509KeyPair(filepath.Join(folder, OwnCertificate), filepath.Join(folder, OwnKey))
	if err != nil {
		return nil, fmt.Errorf("signer's certificates: %w (spdl signer init makes them)", err)
	}
	path := filepath.Join(folder, PeerCertificate)
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("signer's certificates: %w: it is the %s of the other side", err, OwnCertificate)
	}
	block, _ := pem.Decode(data)
	if block == nil || block.Type != "CERTIFICATE" {
		return nil, fmt.Errorf("%s holds no certificate", path)
	}
	return &tls.Config{
		MinVersion: tls.VersionTLS13, Certificates: []tls.Certificate{own}, ClientAuth: tls.RequireAnyClientCert,
		InsecureSkipVerify: true, // names and issuers prove nothing here: VerifyConnection compares certificates
		VerifyConnection: func(s tls.ConnectionState) error {
			if len(s.PeerCertificates) == 0 || !bytes.Equal(s.PeerCertificates[0].Raw, block.Bytes) {
				return errors.New("the other side's certificate is not the one of " + path)
			}
			return nil
		},
	}, nil
}

// MakePair makes a key and a certificate for a node and for a signer, each in its folder, and
// replaces earlier files. Each folder also gets the other side's certificate.
func MakePair(node, signer string) error {
	for _, folder := range []string{node, signer} {
		for _, file := range Files(folder) {
			if err := os.Remove(file); err != nil && !errors.Is(err, os.ErrNotExist) {
				return err
			}
		}
	}
	ofNode, err := makeCertificate(node)
	if err != nil {
		return err
	}
	ofSigner, err := makeCertificate(signer)
	if err != nil {
		return err
	}
	return errors.Join(writeNew(filepath.Join(node, PeerCertificate), "CERTIFICATE", ofSigner, 0o644),
		writeNew(filepath.Join(signer, PeerCertificate), "CERTIFICATE", ofNode, 0o644))
}

// makeCertificate writes a new key and its certificate into a folder, and returns the certificate in DER.
func makeCertificate(folder string) ([]byte, error) {
	public, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return nil, err
	}
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		return nil, err
	}
	template := &x509.Certificate{SerialNumber: serial, Subject: pkix.Name{CommonName: "spdl signer"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().AddDate(100, 0, 0)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, public, private)
	if err != nil {
		return nil, err
	}
	key, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return nil, err
	}
	return der, errors.Join(writeNew(filepath.Join(folder, OwnKey), "PRIVATE KEY", key, 0o600),
		writeNew(filepath.Join(folder, OwnCertificate), "CERTIFICATE", der, 0o644))
}

func writeNew(path, kind string, data []byte, mode os.FileMode) error {
	return newfile.WriteMode(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: data}), mode)
}
