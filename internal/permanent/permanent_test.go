package permanent_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/belfry-go/belfry/internal/permanent"
	"github.com/belfry-go/belfry/notify/channel"
)

func TestWhatIsMarkedIsPermanentAndNothingElse(t *testing.T) {
	t.Parallel()
	cause := errors.New("no such ticket")
	marked := permanent.Mark(cause)
	for name, c := range map[string]struct {
		err  error
		want bool
	}{
		"nothing":              {nil, false},
		"nothing, marked":      {permanent.Mark(nil), false},
		"an error":             {cause, false},
		"a marked one":         {marked, true},
		"a marked one wrapped": {fmt.Errorf("subscriber: %w", marked), true},
		"a refusal for good":   {channel.Permanent("550", cause), true},
		"a passing refusal":    {channel.Transient("429", 0, cause), false},
	} {
		if got := permanent.Is(c.err); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
	if !errors.Is(marked, cause) || marked.Error() != cause.Error() {
		t.Errorf("the cause is hidden: %v", marked)
	}
}
