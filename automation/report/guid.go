package report

import (
	"encoding/binary"
	"fmt"
	"io"
)

// NewGUID makes an id for a subscription or for a run that a person asks for: a
// UUID of version 7 from the store's clock and randomness, so that ids sort by
// their time.
func (s *Service) NewGUID() (string, error) {
	var u [16]byte
	if _, err := io.ReadFull(s.store.Rand(), u[6:]); err != nil {
		return "", fmt.Errorf("report: NewGUID: %w", err)
	}
	ms := uint64(s.now().UnixMilli())
	binary.BigEndian.PutUint32(u[:4], uint32(ms>>16))
	binary.BigEndian.PutUint16(u[4:6], uint16(ms))
	u[6] = u[6]&0x0f | 0x70 // version 7
	u[8] = u[8]&0x3f | 0x80 // the variant of RFC 9562
	return fmt.Sprintf("%x-%x-%x-%x-%x", u[:4], u[4:6], u[6:8], u[8:10], u[10:]), nil
}
