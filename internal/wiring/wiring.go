// Package wiring says what a service of a poller works on, and what it hands its work to, so
// that a poller notices services that do not work together.
package wiring

import (
	"fmt"

	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/driver"
)

// Service is how a service is wired.
type Service struct {
	// Name is what hosts call it, such as "notify.Notifier".
	Name string
	// Self tells it from others of its type. Bound copies have the same.
	Self any
	// Store is what it works on.
	Store storage.Store
	// Needs are services that have to run in the same poller: what this one makes goes out
	// through them.
	Needs []Service
	// Parts are services whose passes run with its own.
	Parts []Service
}

// Of is how something that a service was given is wired: nothing, if it does not say.
func Of(given any) []Service {
	if says, ok := given.(interface{ Wiring() Service }); ok {
		return []Service{says.Wiring()}
	}
	return nil
}

// Check says what is wrong with services that are to run together on store.
func Check(store storage.Store, services []Service) error {
	running := map[any]bool{}
	for _, s := range services {
		running[s.Self] = true
	}
	for _, s := range services {
		if err := s.check(store, running); err != nil {
			return err
		}
	}
	return nil
}

func (s Service) check(store storage.Store, running map[any]bool) error {
	if !driver.Same(s.Store, store) {
		return fmt.Errorf("the %s is on another store than the poller: all services of a poller are made on its store", s.Name)
	}
	for _, n := range s.Needs {
		if !running[n.Self] {
			return fmt.Errorf("the %s hands its work to a %s that is not among the services, so that nothing would be sent: add it", s.Name, n.Name)
		}
	}
	for _, p := range s.Parts {
		if err := p.check(store, running); err != nil {
			return err
		}
	}
	return nil
}
