package keys

// FiringPolicy says how often a threshold condition that is met fires. It is
// part of the key (Automation & Reminders, "Two trigger types"), so a setting
// that changes its policy makes new occasions. The zero value is refused.
type FiringPolicy string

// The policies. Each fires once for:
const (
	OncePerSource    FiringPolicy = "OncePerSource"    // the source and metric, whatever threshold is crossed
	OncePerThreshold FiringPolicy = "OncePerThreshold" // each threshold value in each scope
	OncePerDay       FiringPolicy = "OncePerDay"       // each local date on which it is met
	FalseToTrue      FiringPolicy = "FalseToTrue"      // each rise from not met to met
)
