package storage

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"io"
)

// checkedReader compares a content with its header at the end.
type checkedReader struct {
	io.ReadCloser
	header *blobHeader
	left   int64     // bytes until the end
	sum    hash.Hash // nil when the reading began behind the start
}

func newCheckedReader(body io.ReadCloser, header *blobHeader, offset int64) *checkedReader {
	r := &checkedReader{ReadCloser: body, header: header, left: header.Size - offset}
	if offset == 0 {
		r.sum = sha256.New()
	}
	return r
}

func (r *checkedReader) Read(p []byte) (int, error) {
	n, err := r.ReadCloser.Read(p)
	r.left -= int64(n)
	if r.sum != nil {
		r.sum.Write(p[:n])
	}
	if err == io.EOF && !r.intact() {
		return 0, fmt.Errorf("storage: read blob: the content is not what was put: %w", io.ErrUnexpectedEOF)
	}
	return n, err
}

func (r *checkedReader) intact() bool {
	return r.left == 0 && (r.sum == nil || hex.EncodeToString(r.sum.Sum(nil)) == r.header.SHA256)
}
