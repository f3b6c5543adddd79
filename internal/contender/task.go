package contender

import "fmt"

// Task is what a contender shall do.
type Task struct {
	// Work is the name of a Work that the contender serves: "fill", "drain".
	Work string `json:"work"`
	// Database is a PostgreSQL URL or the path of a SQLite file.
	Database string `json:"database"`
	// Rows is how many rows the work is about; From tells those of several
	// contenders apart.
	Rows int `json:"rows"`
	From int `json:"from"`
	// AtLeast says that more than Rows are there, and that it may do more.
	AtLeast bool `json:"at_least"`
	// Handlers is how many handler calls may run at once.
	Handlers int `json:"handlers"`
	// Synchronous is SQLite's setting, "FULL" or "NORMAL".
	Synchronous string `json:"synchronous"`
	// Tuned gives a peer on SQLite a cache of prepared statements, which its own
	// documentation does not ask for.
	Tuned bool `json:"tuned"`
	// Order is how the due moments of rows to fill lie: "" one after the other,
	// "random" anywhere; or "scattered", the order in which rows to ensure are named.
	Order string `json:"order"`
	// Lane of rows to fill; contenders without lanes ignore it.
	Lane int16 `json:"lane"`
	// Profile is a path prefix for a CPU and an allocation profile of the work;
	// empty: none.
	Profile string `json:"profile"`
}

// Result is what a contender measured of itself. Values are named; seconds and
// milliseconds say so in their names.
type Result struct {
	Rows   int                `json:"rows"`
	Began  int64              `json:"began"` // Unix nanoseconds
	Ended  int64              `json:"ended"`
	Values map[string]float64 `json:"values,omitempty"`
}

// Seconds is how long the work took.
func (r Result) Seconds() float64 { return float64(r.Ended-r.Began) / 1e9 }

// message is a line from a contender: one of its fields is set.
type message struct {
	Ready  bool    `json:"ready,omitempty"`
	Done   int     `json:"done,omitempty"` // rows since the last message
	Result *Result `json:"result,omitempty"`
	Error  string  `json:"error,omitempty"`
}

// The two orders that a contender gets after its task.
const (
	orderGo   = "go"
	orderStop = "stop"
)

func unknown(work string) error { return fmt.Errorf("contender: no work is named %q", work) }
