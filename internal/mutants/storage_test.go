package mutants

// storageMutants are faults in what all adapters share, and in the one in memory.
var storageMutants = []mutant{
	{
		Name: "I-2 every Ensure says that it created the row", File: "storage/ensure.go",
		Old: "if inserted[i] {", New: "if inserted[i] || true {",
		Package: "./storage/memory", Run: "TestContract/^ensure$",
	},
	{
		Name: "I-2 a lost swap of an Ensure is not decided again", File: "storage/ensure.go",
		Old: "again = append(again, found[i])", New: "_ = found[i]",
		Package: "./storage", Run: "TestEnsureDecidesAgain",
	},
	{
		Name: "I-3 Ensure writes a row of which it has read a part", File: "storage/ensure.go",
		Old: "if err == nil && e.deciding != nil {", New: "if err == nil && false {",
		Package: "./storage", Run: "TestEnsureReadsDecidingColumns",
	},
	{
		Name: "storage: rows are decided on before they are checked", File: "storage/ensure.go",
		Old: "\tif err := e.checked(); err != nil {\n\t\treturn nil, nil, err\n\t}\n", New: "",
		Package: "./storage", Run: "TestEnsureOfABadRow",
	},
	{
		Name: "storage: rows are inserted before they are checked", File: "storage/ensure.go",
		Old: "\tif err := e.checked(); err != nil {\n\t\treturn nil, err\n\t}\n\tbatch", New: "\tbatch",
		Package: "./storage", Run: "TestEnsureOfABadRow",
	},
	{
		Name: "I-3 a row that is known is not read before it is written", File: "storage/recognize.go",
		Old: "if outcome, write := e.decide(stored, want); !write {", New: "if outcome, _ := e.decide(stored, want); true {",
		Package: "./storage", Run: "TestAKnownRowThatIsToBeWritten",
	},
	{
		Name: "I-3 a decision about a known row changes what was wanted", File: "storage/recognize.go",
		Old: "\t\t\t*stored = *want\n", New: "\t\t\tstored = want\n",
		Package: "./storage", Run: "TestAKnownRowThatIsToBeWritten",
	},
	{
		Name: "I-3 a row is known by its key", File: "storage/recognize.go",
		Old: "if known[column.Int(FieldsOf(e.row(want)))] {", New: "if len(known) > 0 && column.Name != \"\" {",
		Package: "./storage", Run: "TestEnsureReadsWhatItDoesNotKnow",
	},
	{
		Name: "storage: untouched rows are asked for in every batch", File: "storage/recognize.go",
		Old: "e.strangers.Store(aloof)", New: "e.strangers.Store(0)",
		Package: "./storage", Run: "TestAfterStrangers",
	},
	{
		Name: "storage: rows of several scopes are asked about in one", File: "storage/recognize.go",
		Old: "if e.Record(first).Scope != e.Record(last).Scope {", New: "if e.Record(first).Scope == AnyScope && last != nil {",
		Package: "./storage", Run: "TestEnsureAsksAboutManyRowsOfOneScope",
	},
	{
		Name: "I-7 a worker overwrites what was planned", File: "storage/settle.go",
		Old: "c.Fixed = c.Fixed || c.planned", New: "",
		Package: "./storage/memory", Run: "TestContract/^planned$",
	},
	{
		Name: "storage: claims read what nobody asks for", File: "storage/settle.go",
		Old: "if !c.unclaimed && c.Name", New: "if c.Name",
		Package: "./storage/memory", Run: "TestContract/^planned$",
	},
	{
		Name: "storage: memory makes a table of what a worker sees of it", File: "storage/memory/table.go",
		Old: "schema = schema.Whole", New: "_ = schema",
		Package: "./storage/memory", Run: "TestContract/^planned$",
	},
	{
		Name: "storage: texts run together in a fingerprint", File: "storage/fingerprint.go",
		Old: "return append(binary.AppendUvarint(b, uint64(len(text))), text...)", New: "_ = binary.AppendUvarint\n\treturn append(b, text...)",
		Package: "./storage", Run: "TestFingerprintsTellRowsApart",
	},
	{
		Name: "storage: NULL and empty have one fingerprint", File: "storage/fingerprint.go",
		Old: "if c.IsNull(fields) {", New: "if c.IsNull(fields) && c.Kind != JSON && c.Kind != Bytes {",
		Package: "./storage", Run: "TestFingerprintsTellRowsApart",
	},
	{
		Name: "storage: a fingerprint is of the moment before it is stored", File: "storage/fingerprint.go",
		Old: "Time(*c.Instant(fields)).UnixMicro()", New: "c.Instant(fields).UnixNano()",
		Package: "./storage", Run: "TestFingerprintsAreOfWhatDecides",
	},
	{
		Name: "I-3 memory knows rows that were written since", File: "storage/memory/read.go",
		Old: "if e.img.rec.Version == 1 {", New: "if e.img.rec.Version > 0 {",
		Package: "./storage/memory", Run: "TestContract/^untouched$",
	},
	{
		Name: "I-2 Ensure selects and then inserts", File: "storage/ensure.go",
		Old: "return append(rest, taken...), err", New: "_ = taken\n\treturn rest, err",
		Package: "./storage", Run: "TestEnsure",
	},
	{
		Name: "I-1 memory inserts a key that is taken", File: "storage/memory/write.go",
		Old: "if tab.byKey[identity{rec.Scope, rec.Key}] != nil {", New: "if false {",
		Package: "./storage/memory", Run: "TestContract/^insert$",
	},
	{
		Name: "I-3 memory writes columns that are fixed", File: "storage/memory/image.go",
		Old: "\t\tp.keepFixed(img, old)", New: "\t\t_ = old",
		Package: "./storage/memory", Run: "TestContract/^save$",
	},
	{
		Name: "I-5 memory writes a row without a new version", File: "storage/memory/write.go",
		Old: "\t\timg.rec.Version++\n", New: "",
		Package: "./storage/memory", Run: "TestContract/^save$",
	},
	{
		Name: "I-5 memory takes over without a new version", File: "storage/memory/claim.go",
		Old: "\timg.rec.Version++\n", New: "\tif old.rec.LeaseExpiresOn.IsZero() {\n\t\timg.rec.Version++\n\t}\n",
		Package: "./storage/memory", Run: "TestContract/^take-over$",
	},
	{
		Name: "I-5 memory raises the version when it extends a lease", File: "storage/memory/write.go",
		Old: "img.rec.LeaseExpiresOn = until", New: "img.rec.LeaseExpiresOn, img.rec.Version = until, img.rec.Version+1",
		Package: "./storage/memory", Run: "TestContract/^extend$",
	},
	{
		Name: "I-6 memory claims a row that is held", File: "storage/memory/claim.go",
		Old: "} else if r.LeaseExpiresOn.After(now) {", New: "} else if false {",
		Package: "./storage/memory", Run: "TestContract/^claim$/^a_held_row",
	},
	{
		Name: "I-6 memory claims a row of any status", File: "storage/memory/claim.go",
		Old: "if !slices.Contains(c.Statuses, r.Status) {", New: "if false {",
		Package: "./storage/memory", Run: "TestContract/^claim$",
	},
	{
		Name: "I-7 memory writes whatever the version", File: "storage/memory/write.go",
		Old: "e.img.rec.Version != rec.Version || ", New: "",
		Package: "./storage/memory", Run: "TestContract/^take-over$",
	},
	{
		Name: "I-7 memory extends the lease of another claim", File: "storage/memory/write.go",
		Old: " || e.img.rec.ClaimToken != rec.ClaimToken", New: "",
		Package: "./storage/memory", Run: "TestContract/^extend$",
	},
	{
		Name: "I-12 memory leaves a busy row to a dead worker", File: "storage/memory/claim.go",
		Old: "\tif r.LeaseExpiresOn.IsZero() {", New: "\tif true {",
		Package: "./storage/memory", Run: "TestContract/^take-over$",
	},
	{
		Name: "I-13 memory keeps what a transaction wrote in vain", File: "storage/memory/tx.go",
		Old: "c.t.set(c.e, c.old)", New: "_ = c",
		Package: "./storage/memory", Run: "TestContract/^transactions$",
	},
	{
		Name: "I-14 memory claims types that nobody here serves", File: "storage/memory/claim.go",
		Old: "if c.Types != nil && !slices.Contains(c.Types, r.Type) {", New: "if false {",
		Package: "./storage/memory", Run: "TestContract/^claim$",
	},
	{
		Name: "I-28 memory reads rows of every tenant", File: "storage/memory/read.go",
		Old: "(scope == storage.AnyScope || e.img.rec.Scope == scope) && holds(e.img.row)", New: "holds(e.img.row)",
		Package: "./storage/memory", Run: "TestContract/^scopes$",
	},
	{
		Name: "I-30 memory waits for a transaction whatever its context", File: "storage/memory/store.go",
		Old: "case <-ctx.Done():", New: "case <-make(chan struct{}):",
		Package: "./storage/memory", Run: "TestContract/^contexts$", Hangs: true,
	},
}
