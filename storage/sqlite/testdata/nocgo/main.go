// This program is built without cgo, as programs in small images often are.
package main

import (
	"context"
	"fmt"

	"github.com/belfry-go/belfry/storage/sqlite"
)

func main() {
	_, err := sqlite.Open(context.Background(), ":memory:", nil)
	fmt.Println(err)
}
