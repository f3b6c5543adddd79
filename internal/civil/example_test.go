package civil_test

import (
	"fmt"
	"time"
	_ "time/tzdata"

	"github.com/belfry-go/belfry/internal/civil"
)

// A reminder two days before the end of March, at half past one in London, is
// for a time that no clock shows: summer time begins that night.
func ExampleResolve() {
	london, err := civil.LoadZone("Europe/London")
	if err != nil {
		fmt.Println(err)
		return
	}
	day := civil.Date{Year: 2026, Month: time.March, Day: 31}.AddDays(-2)
	at, how, err := civil.Resolve(day, civil.TimeOfDay{Hour: 1, Minute: 30}, london, civil.Policy{})
	fmt.Println(at.Format(time.RFC3339), how, err)
	// Output: 2026-03-29T01:00:00Z shifted-forward <nil>
}
