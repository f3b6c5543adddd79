package notify

import "context"

// slots bound how many calls of a channel this process makes at once. Nil: no
// bound.
type slots chan struct{}

// slots are those of the channels that are bounded, by the options or by themselves.
// Where a source chooses channels, each has its own bound.
func (o *Options) slots(channels []Channel) map[string]slots {
	out := map[string]slots{}
	for _, c := range channels {
		if b, ok := c.(Bounded); ok && o.Channels == nil {
			out[c.Key()] = make(slots, 2*max(b.MaxCalls(), 1))
		}
	}
	for key, most := range o.ChannelConcurrency {
		out[key] = make(slots, max(most, 1))
	}
	return out
}

// take waits for one slot, and takes as many more as are free, at most n. It holds
// none while it waits, so that nobody waits for ever. Zero: ctx has ended.
func (s slots) take(ctx context.Context, n int) (taken int) {
	if s == nil {
		return n
	}
	select {
	case s <- struct{}{}:
	case <-ctx.Done():
		return 0
	}
	for taken = 1; taken < n; taken++ {
		select {
		case s <- struct{}{}:
		default:
			return taken
		}
	}
	return taken
}

func (s slots) give(n int) {
	for range n {
		if s != nil {
			<-s
		}
	}
}
