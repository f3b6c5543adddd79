package notify

import (
	"encoding/hex"

	"github.com/belfry-go/belfry/internal/canonical"
	"github.com/belfry-go/belfry/keys"
)

// The formats of a job's default hash. The first was of the EventData as it was written.
const (
	jobFormat      = "belfry-job-2"
	firstJobFormat = "belfry-job-1"
)

func (j *jobRow) hash(format, data string) string {
	sum := keys.Sum(format, j.Kind, j.BusinessUnit, j.EntityType, j.Entity, data)
	return hex.EncodeToString(sum[:])
}

// defaultHash is the hash of a job whose EventData says what it stands for, in any spelling.
func (j *jobRow) defaultHash() (string, error) {
	data, err := canonical.Exact(j.EventData)
	return j.hash(jobFormat, string(data)), err
}

// inputField compares what two jobs stand for. Where EventData alone tells, the name is that
// of its first member that differs.
func (j *jobRow) inputField(w *jobRow) field {
	f := field{"InputHash", j.InputHash, w.InputHash}
	if f.stored == f.wanted || j.IsTombstone() {
		return f
	}
	stored, err := j.defaultHash()
	if err != nil { // of a job that another program wrote
		return f
	}
	if j.InputHash == j.hash(firstJobFormat, string(j.EventData)) {
		f.stored = stored
	}
	if wanted, err := w.defaultHash(); err == nil && f.stored == stored && f.wanted == wanted {
		at := canonical.Difference(j.EventData, w.EventData)
		f.name = eventDataField(at.Path)
		if at.Was != at.Is {
			f.stored, f.wanted = at.Was, at.Is
		}
	}
	return f
}

// maxField bounds the name of a field that differs, in bytes.
const maxField = 200

// eventData is the field of a job that alone says what it stands for, and hashLen how long
// a hash of it is.
const (
	eventData = "EventData"
	hashLen   = 64
)

func eventDataField(path string) string {
	switch {
	case path == "" || len(eventData+"."+path) > maxField:
		return eventData
	case path[0] == '[':
		return eventData + path
	}
	return eventData + "." + path
}
