package driver

import (
	"testing"
	"time"
)

func TestALossIsOneForAllWhoNoticeIt(t *testing.T) {
	t.Parallel()
	at := func(second int) time.Time { return time.Unix(int64(second), 0) }
	known := Loss{From: at(10), Until: at(12), NoticedOn: at(20)}
	released := known
	released.ReleasedOn = at(100)
	for name, c := range map[string]struct{ was, found, want Loss }{
		"the first":                        {found: known, want: known},
		"another process finds more of it": {was: known, found: Loss{From: at(5), Until: at(13), NoticedOn: at(60)}, want: Loss{From: at(5), Until: at(13), NoticedOn: at(20)}},
		"it finds it late":                 {was: released, found: Loss{From: at(11), Until: at(12), NoticedOn: at(160)}, want: released},
		"another loss":                     {was: released, found: Loss{From: at(150), Until: at(151), NoticedOn: at(160)}, want: Loss{From: at(150), Until: at(151), NoticedOn: at(160)}},
		"another one before the release":   {was: known, found: Loss{From: at(50), Until: at(51), NoticedOn: at(60)}, want: Loss{From: at(10), Until: at(51), NoticedOn: at(60)}},
	} {
		if got := c.was.with(c.found); got != c.want {
			t.Errorf("%s: %+v", name, got)
		}
	}
}
