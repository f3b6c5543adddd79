package storage

import (
	"fmt"
	"time"
)

// blobHeader is the row of one blob; its key is the blob's name. DueOn is the
// moment at which it may be collected, and zero once it is kept.
type blobHeader struct {
	Record
	Size     int64  `db:"size"`
	SHA256   string `db:"sha256"`
	Complete bool   `db:"complete"`
}

// blobChunk is one piece of a blob's content; its key is made by chunkKey.
type blobChunk struct {
	Record
	Data []byte `db:"data,fixed"`
}

var (
	blobHeaders = Define[blobHeader]("blob")
	blobChunks  = Define[blobChunk]("blob_chunk")
)

const (
	chunkSize   = 1 << 20        // bytes of every chunk but the last
	keepBlobsBy = 24 * time.Hour // what nobody kept by then is collected
)

// chunkKey sorts the chunks of a blob in order.
func chunkKey(name string, n int64) string { return fmt.Sprintf("%s/%08d", name, n) }

// chunksOf holds for all chunks of a blob; '0' is the character behind '/'.
func chunksOf(name string) []Cond {
	return []Cond{AtLeast("key", name+"/"), Less("key", name+"0")}
}
