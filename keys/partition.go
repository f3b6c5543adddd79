package keys

// CampaignPartition is the partition key of a campaign's notification jobs,
// {businessUnit}_Campaign (Communication - System architecture, "Key
// policy"). The error is a [*PartError].
func CampaignPartition(businessUnit string) (string, error) {
	return partition("campaign partition", "businessUnit", "", businessUnit, "_Campaign")
}

// UserPartition is the partition key of a customer's messages, user:{id}.
// Its prefix keeps customers and staff apart. The error is a [*PartError].
func UserPartition(id string) (string, error) {
	return partition("user partition", "user", "user:", id, "")
}

// EmployeePartition is the partition key of a staff member's messages,
// employee:{guid}. The error is a [*PartError].
func EmployeePartition(guid string) (string, error) {
	return partition("employee partition", "employee", "employee:", guid, "")
}

func partition(kind, part, prefix, id, suffix string) (string, error) {
	if p := textProblem(id, MaxPartLen, ":"); p != "" {
		return "", &PartError{Kind: kind, Part: part, Problem: p}
	}
	return prefix + id + suffix, nil
}
