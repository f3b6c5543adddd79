package keys

// Host is the identity of due work of a type that the host added, a format of
// Belfry's own:
//
//	host:{type}:{sourceType}:{source}:{triggerKey}
type Host struct {
	Type       string // the automation type as the host registered it
	SourceType string // the kind of entity
	Source     string // its id
	TriggerKey string // tells several occasions of one source apart
}

// Key builds the key. The error is a [*PartError].
func (k Host) Key() (string, error) {
	b := newBuilder("host", "host")
	b.part("type", k.Type)
	b.part("sourceType", k.SourceType)
	b.part("source", k.Source)
	b.part("triggerKey", k.TriggerKey)
	return b.key()
}

func (Host) parsed() {}

func parseHost(key string) (Parsed, error) {
	c, err := components("host", key, 5)
	if err != nil {
		return nil, err
	}
	return Host{Type: c[1], SourceType: c[2], Source: c[3], TriggerKey: c[4]}, nil
}
