package contender

import (
	"errors"
	"os"
	"runtime/pprof"
)

// profiled writes a CPU profile of work to prefix.cpu, and one of what it
// allocated to prefix.mem.
func profiled(prefix string, work func() (Result, error)) (result Result, err error) {
	cpu, err := os.Create(prefix + ".cpu")
	if err != nil {
		return Result{}, err
	}
	defer func() { err = errors.Join(err, cpu.Close()) }()
	if err := pprof.StartCPUProfile(cpu); err != nil {
		return Result{}, err
	}
	result, err = work()
	pprof.StopCPUProfile()
	return result, errors.Join(err, writeAllocations(prefix+".mem"))
}

func writeAllocations(path string) (err error) {
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	return pprof.Lookup("allocs").WriteTo(file, 0)
}
