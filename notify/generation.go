package notify

import "time"

// Generation is how far a campaign has come. It changes only in the
// transactions that write a chunk of messages, or cancel some.
type Generation struct {
	StartedOn time.Time `db:"started_on"` // when its schedule fell due
	// HashKey is the fingerprint of the key that hashes the recipients, from the
	// first chunk on: under another one nobody could tell who had a message.
	HashKey string `db:"hash_key"`
	// Offset is the cursor: so many bytes of the payload are done. The recipients
	// in front of it are Done, and each of them is Generated, Skipped or Repeated.
	Offset    int64 `db:"payload_offset"`
	Done      int   `db:"recipients_done"`
	Generated int   `db:"recipients_generated"` // a message was made that is to go out
	Skipped   int   `db:"recipients_skipped"`   // nothing goes out, for a reason
	Repeated  int   `db:"recipients_repeated"`  // had their message already: they are in the audience twice
	// ChunkOn is when the last chunk was committed, Hourly how many recipients an
	// hour the last chunks made, smoothed.
	ChunkOn     time.Time `db:"chunk_on"`
	Hourly      int       `db:"hourly_rate"`
	CancelledOn time.Time `db:"cancelled_on"` // by a person
	// CancelledUpTo is the key up to which a cancelled campaign's messages were
	// looked at in this round, InFlight how many of them were with a provider just
	// then, Rounds how many rounds came before.
	CancelledUpTo string `db:"cancelled_up_to"`
	InFlight      int    `db:"in_flight"`
	Rounds        int    `db:"cancel_rounds"`
	Cancelled     int    `db:"messages_cancelled"`
}

// advance moves the cursor behind a chunk and counts what became of it.
func (g *Generation) advance(now time.Time, to int64, generated, skipped, repeated int) {
	n := generated + skipped + repeated
	g.Offset = to
	g.Done += n
	g.Generated += generated
	g.Skipped += skipped
	g.Repeated += repeated
	if took := now.Sub(g.ChunkOn); !g.ChunkOn.IsZero() && took > 0 {
		g.Hourly = smoothed(g.Hourly, int(float64(n)*float64(time.Hour)/float64(took)))
	}
	g.ChunkOn = now
}

// smoothed gives the last value a quarter of the weight.
func smoothed(before, last int) int {
	if before == 0 {
		return last
	}
	return (3*before + last) / 4
}

// left is how long the rest takes at the present rate; zero: nobody knows.
func (g *Generation) left(size int) time.Duration {
	if g.Hourly == 0 || size <= g.Done {
		return 0
	}
	return time.Duration(float64(size-g.Done) / float64(g.Hourly) * float64(time.Hour)).Round(time.Second)
}
