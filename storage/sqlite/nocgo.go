//go:build !cgo

package sqlite

import (
	"context"
	"errors"
)

// Open fails: SQLite is a C library, and this program was built without cgo.
func Open(context.Context, string, *Options) (*Store, error) {
	return nil, errors.New("sqlite: this program was built without cgo, which SQLite needs: " +
		"install a C compiler (Debian, Ubuntu: apt install gcc libc6-dev; Alpine: apk add gcc musl-dev; " +
		"macOS: xcode-select --install; Windows: mingw-w64) and build again with CGO_ENABLED=1, " +
		"or use storage/postgres")
}
