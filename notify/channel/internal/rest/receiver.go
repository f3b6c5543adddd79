package rest

import (
	"cmp"
	"context"
	"errors"

	"github.com/belfry-go/belfry/internal/safedial"
	"github.com/belfry-go/belfry/notify/channel"
)

// OfReceiver is an error of a call to a server that its recipient names. It keeps the
// class, and of the cause only the kind: names and addresses of receivers stand in it.
// Each receiver is a server of its own, so none speaks for the channel; a call that we
// ended ourselves says nothing about the provider.
func OfReceiver(provider string, err error) *channel.Error {
	e, cause, fault := channel.Classify(err), safedial.Cause(err), channel.FaultAddress
	switch {
	case errors.Is(err, safedial.ErrForbidden):
		return channel.Permanent(cause, safedial.ErrForbidden).Blame(fault)
	case errors.Is(err, context.Canceled):
		fault = ""
	}
	return &channel.Error{Class: e.Class, Fault: fault, Code: cmp.Or(cause, e.Code), Err: errors.New(provider + ": no connection or no answer")}
}
