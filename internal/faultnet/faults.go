package faultnet

import (
	"context"
	"time"
)

// Blackhole makes the network go silent: connections stay up and new ones are
// accepted, but nothing is forwarded either way, closing included, and the
// target is not dialled. What a peer sends after Blackhole has returned is held
// until Resume; bytes already on their way may still arrive.
func (p *Proxy) Blackhole() { p.gate.shut() }

// Resume ends a black hole and delivers what it held. Without one it does
// nothing.
func (p *Proxy) Resume() { p.gate.open() }

// CutAll resets (RST) every present connection on both sides, as a firewall or
// a crashed machine does. It has happened when CutAll returns. Later
// connections are not affected, and a black hole stays in force.
func (p *Proxy) CutAll() { p.end(rst, false) }

// CloseAll closes (FIN) every present connection on both sides, as a pooler or
// a load balancer does with idle ones. Otherwise it is like CutAll.
func (p *Proxy) CloseAll() { p.end(fin, false) }

// Latency delays every piece of data by d, in each direction, so that a request
// and its reply take 2d longer. A transfer of several pieces waits for each of
// them. Zero, the default, is no delay.
func (p *Proxy) Latency(d time.Duration) { p.latency.Store(int64(d)) }

// hold waits until bytes that were read may go on; false means that ctx ended.
func (p *Proxy) hold(ctx context.Context) bool {
	return p.delay(ctx) && p.gate.wait(ctx)
}

func (p *Proxy) delay(ctx context.Context) bool {
	d := time.Duration(p.latency.Load())
	if d <= 0 {
		return true
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
