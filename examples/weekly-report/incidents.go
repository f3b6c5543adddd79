package main

import "context"

func (s *story) scheduled(context.Context) error              { return nil }
func (s *story) everybodyElse(context.Context) error          { return nil }
func (s *story) everybodyElseScheduled(context.Context) error { return nil }
func (s *story) outage(context.Context) error                 { return nil }
func (s *story) trespass(context.Context) error               { return nil }
func (s *story) resolve(context.Context) error                { return nil }
func (s *story) forwardAgain(context.Context) error           { return nil }
func (s *story) cutOver(context.Context) error                { return nil }
func (s *story) backTo3(context.Context) error                { return nil }
