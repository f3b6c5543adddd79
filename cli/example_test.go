package cli_test

import (
	"context"
	"fmt"
	"os"

	"github.com/benbjohnson/clock"

	"github.com/belfry-go/belfry/cli"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/storage/memory"
	"github.com/belfry-go/belfry/support"
)

func ExampleRun() {
	ctx, store := context.Background(), memory.New(&memory.Options{Clock: clock.NewMock()})
	out := notify.New(store, nil)
	app := &cli.App{Open: func(context.Context, bool) (*cli.Services, error) {
		return &cli.Services{Options: support.Options{Store: store, Notify: out}}, nil
	}}
	pause := []string{"pause", "-domain", "notify", "-type", "news", "-scope", "north"}
	code := cli.Run(ctx, app, pause, os.Stdout, os.Stdout)
	fmt.Println("exit", code)
	code = cli.Run(ctx, app, append(pause, "-yes", "-actor", "ann", "-reason", "a wrong text"), os.Stdout, os.Stdout)
	fmt.Println("exit", code)
	// Output:
	// TARGET             PAUSE          DETAIL
	// notify: type news  would be done  no new work begins; work that has begun is finished
	// belfry: dry run: nothing was done. Add -yes, -actor and -reason to do it
	// exit 4
	// TARGET             PAUSE
	// notify: type news  done
	// exit 0
}
