package memory_test

import (
	"testing"

	"github.com/belfry-go/belfry/storage/memory"
	"github.com/belfry-go/belfry/storage/storagetest"
)

func harness() storagetest.Harness {
	return storagetest.Harness{
		Open: func(_ testing.TB, o storagetest.Options) *storagetest.Instance {
			return &storagetest.Instance{Store: memory.New(&memory.Options{
				Clock: o.Clock, Rand: o.Rand, Environment: o.Environment,
			})}
		},
		NoJoin:         "a store in memory has no host transactions",
		NoSecondHandle: "a store in memory is seen by its process only",
		NoInspect:      "a store in memory makes tables from their structs",
		Alone:          "one lock is for all",
		NoFolder:       "a store in memory keeps contents in memory",
	}
}

func TestContract(t *testing.T) {
	t.Parallel()
	storagetest.Run(t, harness())
}

func BenchmarkVerbs(b *testing.B) { storagetest.Bench(b, harness()) }
