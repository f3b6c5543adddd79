// Package faultnet is a TCP proxy that misbehaves on command, for tests that
// ask what happens when the network does. It knows no protocol: it forwards
// bytes, holds them back, delays them or cuts the connection in the way a real
// network does it (FIN, RST, silence).
//
// Only tests import it.
package faultnet
