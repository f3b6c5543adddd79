package survey_test

import (
	"errors"
	"sync/atomic"

	"github.com/belfry-go/belfry/internal/storetest"
	"github.com/belfry-go/belfry/storage"
)

var errCrash = errors.New("the process died here")

// faulty is a store that counts the verbs of transactions, each of which is a
// statement, and dies at one of them.
type faulty struct {
	*storetest.Spy
	verbs  atomic.Int64
	crash  int64 // the verb that fails, from 1; zero: none
	commit bool  // the reply to the first COMMIT is lost
}

func newFaulty(store storage.Store, crash int64) *faulty {
	f := &faulty{crash: crash}
	f.Spy = &storetest.Spy{Store: store, Hook: f.hook}
	return f
}

func (f *faulty) hook(c storetest.Call) error {
	switch {
	case c.Verb == storetest.Committed && f.commit:
		f.commit = false
		return storage.ErrOutcomeUnknown
	case c.Tx != nil && c.Table != "" && f.verbs.Add(1) == f.crash:
		return errCrash
	}
	return nil
}
