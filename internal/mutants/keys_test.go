package mutants

// keysMutants are faults in identities and hashes.
var keysMutants = []mutant{
	{
		Name: "I-19 an instant is written in its zone", File: "keys/instant.go",
		Old: "return t.UTC().Format(instantLayout)", New: "return t.Format(instantLayout)",
		Package: "./keys", Run: "TestI19_SameKeysInEveryZone",
	},
	{
		Name: "I-19 the order of a map counts", File: "keys/input.go",
		Old: "slices.Sorted(maps.Keys(in.Identity))", New: "slices.Collect(maps.Keys(in.Identity))",
		Package: "./keys", Run: "TestI19_OrderOfAMapDoesNotMatter",
	},
	{
		Name: "I-19 a key is made of the wall clock", File: "keys/jobrow.go",
		Old: "ReverseTicks(t)", New: "ReverseTicks(time.Now())",
		Package: "./keys", Run: "TestI19_SameKeysInEveryZone",
	},
	{
		Name: "I-19 a key holds a random id", File: "keys/messagingjob.go",
		Old: "sha256.Sum256([]byte(schedulerKey))", New: `sha256.Sum256(fmt.Appendf(nil, "%s%p", schedulerKey, new(int)))`,
		Package: "./keys", Run: "TestI19_SameKeysInAnotherProcess/UTC",
	},
	{
		Name: "I-20 a separator in a part is not refused", File: "keys/builder.go",
		Old: `textProblem(value, MaxPartLen, ":")`, New: `textProblem(value, MaxPartLen, "")`,
		Package: "./keys", Run: "TestI20_TriggerKeyWithAColonIsNoOtherKey",
	},
	{
		Name: "I-20 a part of an identity holds the separator", File: "keys/text.go",
		Old: "if unicode.IsControl(r) {", New: "if unicode.IsControl(r) && r != 0x1f {",
		Package: "./keys", Run: "TestJoinRefuses",
	},
	{
		Name: "I-20 an instant has two spellings", File: "keys/instant.go",
		Old: "err != nil || formatInstant(t) != s", New: "err != nil",
		Package: "./keys", Run: "TestI20_RefusedTexts",
	},
	{
		Name: "I-20 hashed fields run together", File: "keys/sum.go",
		Old: "binary.BigEndian.AppendUint64(message, uint64(len(f)))", New: "binary.BigEndian.AppendUint64(message, 0)[:len(message)]",
		Package: "./keys", Run: "TestInputHashTellsNeighboursApart",
	},
	{
		Name: "I-1 a threshold in two spellings is two reminders", File: "keys/threshold.go",
		Old: "case value != wantValue:", New: "case false && value != wantValue:",
		Package: "./keys", Run: "TestI20_RefusedTexts",
	},
	{
		Name: "I-19 a key counts how many were made before", File: "keys/automationrow.go",
		Old: "func AutomationRowKey(schedulerKey string) string {", New: "var made byte\n\nfunc AutomationRowKey(schedulerKey string) string {\n\tmade++\n\tschedulerKey += string(made)",
		Package: "./keys", Run: "TestI19_SameKeysInEveryZone",
	},
	{
		Name: "I-19 callers share one hash", File: "keys/recipient.go",
		Old: "func authenticate(hmacKey, message []byte) []byte {\n\tmac := hmac.New(sha256.New, hmacKey)", New: "var mac = hmac.New(sha256.New, nil)\n\nfunc authenticate(hmacKey, message []byte) []byte {",
		Package: "./keys", Run: "TestI19_SameKeysFromManyGoroutines",
	},
}
