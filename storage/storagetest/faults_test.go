package storagetest

import "slices"

// faults are all deliberate ones, each with the theme that must notice it.
func faults() []fault {
	return slices.Concat(claimFaults, writeFaults, readFaults, tallyFaults, untouchedFaults, valueFaults, storeFaults,
		[]fault{{name: "an undeclared inability", theme: "insert"}})
}
