package auth

import (
	"bytes"
	"context"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// FilePairStore keeps the pair in one file that only its owner can read, so that no reader ever meets half a pair.
type FilePairStore struct{ path string }

// NewFilePairStore keeps the pair at path. Its directory is made when needed.
func NewFilePairStore(path string) *FilePairStore { return &FilePairStore{path: path} }

var _ PairStore = (*FilePairStore)(nil)

// Load reads the file.
func (s *FilePairStore) Load(context.Context) (Pair, error) {
	content, err := os.ReadFile(s.path)
	if errors.Is(err, fs.ErrNotExist) {
		return Pair{}, ErrNoPair
	}
	if err != nil {
		return Pair{}, err
	}
	var pair Pair
	for block, rest := pem.Decode(content); block != nil; block, rest = pem.Decode(rest) {
		encoded := pem.EncodeToMemory(block)
		if block.Type == "CERTIFICATE" {
			pair.Certificate = append(pair.Certificate, encoded...)
		} else {
			pair.Key = append(pair.Key, encoded...)
		}
	}
	return pair, nil
}

// Save writes a new file and puts it in place: the first one as a link, which fails when another process was first, a
// later one by a rename. Two processes that renew at the same moment may both do so; the later one counts.
func (s *FilePairStore) Save(ctx context.Context, old, pair Pair) (Pair, error) {
	stored, err := s.Load(ctx)
	if err != nil && !errors.Is(err, ErrNoPair) {
		return Pair{}, err
	}
	if !stored.Equal(old) {
		return stored, nil
	}
	written, err := s.write(pair)
	if err != nil {
		return Pair{}, err
	}
	if !old.Equal(Pair{}) {
		return pair, os.Rename(written, s.path)
	}
	err = os.Link(written, s.path)
	if err = errors.Join(err, os.Remove(written)); errors.Is(err, fs.ErrExist) {
		return s.Load(ctx)
	}
	return pair, err
}

// write makes a complete file beside the final one.
func (s *FilePairStore) write(pair Pair) (string, error) {
	directory := filepath.Dir(s.path)
	if err := os.MkdirAll(directory, 0o700); err != nil {
		return "", err
	}
	file, err := os.CreateTemp(directory, ".pair-*") // mode 0600
	if err != nil {
		return "", err
	}
	_, err = file.Write(bytes.Join([][]byte{pair.Certificate, pair.Key}, nil))
	if err = errors.Join(err, file.Close()); err != nil {
		return "", fmt.Errorf("write %s: %w", file.Name(), errors.Join(err, os.Remove(file.Name())))
	}
	return file.Name(), nil
}
