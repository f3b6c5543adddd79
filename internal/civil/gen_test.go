package civil

import (
	"sort"
	"sync"
	"time"

	"pgregory.net/rapid"
)

// trickyZones have changed their clocks in every way that the IANA data knows.
var trickyZones = []string{
	"Africa/Cairo", "Africa/Casablanca", "Africa/El_Aaiun", "Africa/Monrovia",
	"America/Asuncion", "America/Caracas", "America/Havana", "America/Juneau", "America/New_York",
	"America/Nuuk", "America/Santiago", "America/Sao_Paulo", "America/St_Johns", "Antarctica/Troll",
	"Asia/Beirut", "Asia/Gaza", "Asia/Kathmandu", "Asia/Manila", "Asia/Pyongyang", "Asia/Tehran",
	"Australia/Lord_Howe", "Europe/Dublin", "Europe/London", "Europe/Moscow", "Europe/Paris",
	"Pacific/Apia", "Pacific/Chatham", "Pacific/Kiritimati", "Pacific/Kwajalein",
	"Etc/GMT+12", "UTC",
}

// moment is a reading of the clocks in a zone.
type moment struct {
	loc *time.Location
	d   Date
	tod TimeOfDay
}

// showAt returns what clocks in loc show at a Unix second, as a count of
// seconds.
func showAt(sec int64, loc *time.Location) int64 {
	_, offset := time.Unix(sec, 0).In(loc).Zone()
	return sec + int64(offset)
}

func momentAt(reading int64, loc *time.Location) moment {
	clock := time.Unix(reading, 0).UTC()
	return moment{loc, DateOf(clock, time.UTC), TimeOfDay{clock.Hour(), clock.Minute(), clock.Second()}}
}

// genMoment draws readings, two in three of them near a change of clocks.
func genMoment() *rapid.Generator[moment] {
	return rapid.Custom(func(t *rapid.T) moment {
		loc := zone(t, rapid.SampledFrom(trickyZones).Draw(t, "zone"))
		return momentAt(genReading(loc).Draw(t, "reading"), loc)
	})
}

func genReading(loc *time.Location) *rapid.Generator[int64] {
	anywhere := rapid.Int64Range(firstYear.Unix(), lastYear.Unix())
	changes := changesOf(loc)
	if len(changes) == 0 {
		return anywhere
	}
	near := func(distance int64) *rapid.Generator[int64] {
		return rapid.Custom(func(t *rapid.T) int64 {
			at := rapid.SampledFrom(changes).Draw(t, "change")
			shown := rapid.SampledFrom([]int64{showAt(at, loc), showAt(at-1, loc) + 1}).Draw(t, "clock")
			return shown + rapid.Int64Range(-distance, distance).Draw(t, "distance")
		})
	}
	return rapid.OneOf(anywhere, near(5400), near(daySecs))
}

var (
	firstYear   = time.Date(1860, 1, 1, 0, 0, 0, 0, time.UTC)
	lastYear    = time.Date(2060, 1, 1, 0, 0, 0, 0, time.UTC)
	changeCache sync.Map // *time.Location to []int64
)

// changesOf finds the Unix seconds at which a zone's offset changes, by looking
// at each day, independent of ZoneBounds.
func changesOf(loc *time.Location) []int64 {
	if known, ok := changeCache.Load(loc); ok {
		return known.([]int64)
	}
	var changes []int64
	for day := firstYear.Unix(); day < lastYear.Unix(); day += daySecs {
		offset := showAt(day, loc) - day
		if showAt(day+daySecs, loc)-day-daySecs == offset {
			continue
		}
		within := sort.Search(daySecs, func(i int) bool {
			sec := day + int64(i)
			return showAt(sec, loc)-sec != offset
		})
		changes = append(changes, day+int64(within))
	}
	changeCache.Store(loc, changes)
	return changes
}
