// Package cli is Belfry's command line, for a host's own program and, over a database
// alone, for cmd/belfry: for people who look into a problem, and for scripts that check
// every minute.
//
//	func main() {
//		os.Exit(cli.Main(&cli.App{Name: "school belfry", Open: open}))
//	}
//
// It stands on package support. A command that changes something does a dry run unless
// -yes is given. Changes are audited with actor and reason. Docs: docs/support.md.
package cli

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/belfry-go/belfry"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/support"
)

// App is a program with this command line.
type App struct {
	// Name is the program's name in texts; empty: "belfry".
	Name string
	// Open makes what a command works on; the command closes it. With migrate the migrations
	// that are missing are run, without it a database that lacks some is an error. A program
	// that already has its services open may return those, for both values of migrate.
	Open func(ctx context.Context, migrate bool) (*Services, error)
	// OpenStore opens the store of another database, which has its tables: what -to of move
	// names. Nil: move has to be run in another program.
	OpenStore func(ctx context.Context, database string) (store storage.Store, closes func() error, err error)
	// Flags adds those of the program itself, which stand before the command; nil: none.
	Flags func(*flag.FlagSet)
}

// Services is what commands work on. Only Store is required. A command whose service is
// missing says so, and commands know only the types, channels and keys that the services
// were given.
type Services struct {
	// Options are the store, the domains and hooks, as of a support desk.
	support.Options
	// Poller is over the same services, with the host's Retention and Privacy. It need not
	// run. It serves retain, erase and export.
	Poller *belfry.Poller
	// Samples are the messages that preview shows.
	Samples []Sample
	// Bare says that the domains were made from a database alone: without the host's types
	// and channels, so unserved types are not listed, and without its HashKey, so people are
	// not found by address.
	Bare bool
	// Close releases what Open opened; nil: there is nothing to release.
	Close func() error
}

// Sample is a message to look at: a job with sample data, and its recipient.
type Sample struct {
	Name      string // what preview calls it; empty: the job's type
	Job       notify.Job
	Recipient notify.Recipient
}

// What [Run] and [Main] return, for scripts.
const (
	ExitDone      = 0 // done; of a query: nothing needs attention
	ExitFailed    = 1 // an error; it is safe to repeat the command
	ExitUsage     = 2 // the command line is invalid
	ExitNeedsYou  = 3 // of a query: something needs attention, or differs
	ExitNotDone   = 4 // a dry run: -yes is missing
	ExitRefused   = 5 // refused or not found, at least in part
	ExitElsewhere = 6 // it has to be run in the host's own program
)

// Main runs the command of os.Args, until SIGINT or SIGTERM, and returns the exit code.
func Main(app *App) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	return Run(ctx, app, os.Args[1:], os.Stdout, os.Stderr)
}

// Run runs one command. Its answer goes to stdout, errors to stderr. It returns the exit
// code, and panics without an Open.
func Run(ctx context.Context, app *App, args []string, stdout, stderr io.Writer) int {
	if app == nil || app.Open == nil {
		panic("cli: App.Open is required")
	}
	c := &call{app: app, out: stdout, err: stderr}
	err := c.run(ctx, args)
	code := c.exitOf(err)
	if text := c.complaint(err); text != "" {
		fmt.Fprintf(stderr, "%s: %s\n", app.name(), text)
	}
	return code
}

func (a *App) name() string {
	if a.Name == "" {
		return "belfry"
	}
	return a.Name
}

// exit is an error with the exit code of the command.
type exit struct {
	code int
	text string // for stderr; empty: stdout has said all
}

func (e *exit) Error() string { return e.text }

func usage(format string, args ...any) error {
	return &exit{ExitUsage, fmt.Sprintf(format, args...)}
}

func (c *call) exitOf(err error) int {
	var e *exit
	switch {
	case err == nil, errors.Is(err, flag.ErrHelp):
		return ExitDone
	case errors.As(err, &e):
		return e.code
	case errors.Is(err, storage.ErrSchema) && c.command == checkCommand:
		return ExitNeedsYou
	case errors.Is(err, storage.ErrNotFound), errors.Is(err, notify.ErrActionRefused):
		return ExitRefused
	case errors.Is(err, support.ErrAbout), errors.Is(err, support.ErrOrder), errors.Is(err, storage.ErrPage):
		return ExitUsage
	}
	return ExitFailed
}

// complaint is the text for stderr.
func (c *call) complaint(err error) string {
	switch {
	case err == nil, errors.Is(err, flag.ErrHelp):
		return ""
	case c.exitOf(err) == ExitUsage && c.command != nil:
		return fmt.Sprintf("%s: %s (%s -h says more)", c.command.name, printable(err.Error()), c.command.name)
	case c.exitOf(err) == ExitUsage:
		return printable(err.Error()) + " (-h says more)"
	}
	return printable(err.Error())
}

// call is one command that is run.
type call struct {
	app      *App
	out, err io.Writer
	command  *command
	flags    flags
	s        *Services
	desk     *support.Desk
}

// command is one command of the program.
type command struct {
	name, args string // "person", "WHO"
	does       string // a line for the list
	says       string // paragraphs for its own help
	flags      func(*flags, *flag.FlagSet)
	run        func(*call, context.Context) error
	migrates   bool
}

// commands in the order of the help.
func commands() []*command {
	return []*command{
		migrateCommand, checkCommand, healthCommand, holdsCommand, personCommand, whyCommand,
		messagesCommand, upcomingCommand, remindersCommand, surveysCommand, reportsCommand, auditCommand,
		releaseCommand, retryCommand, cancelCommand, resolveCommand, doubtsCommand, pauseCommand, resumeCommand, replanCommand,
		previewCommand, retainCommand, exportCommand, eraseCommand, reapplyCommand, moveCommand,
	}
}

func (c *call) run(ctx context.Context, args []string) (err error) {
	top := c.flagSet(c.app.name(), c.help)
	if c.app.Flags != nil {
		c.app.Flags(top)
	}
	if err := parse(top, args); err != nil {
		return err
	}
	rest := top.Args()
	if len(rest) == 0 {
		c.help(c.err, top)
		return usage("no command")
	}
	for _, known := range commands() {
		if known.name == rest[0] {
			c.command = known
		}
	}
	if c.command == nil {
		return usage("unknown command %.40q", rest[0])
	}
	if err := c.parse(rest[1:]); err != nil {
		return err
	}
	if c.s, err = c.app.Open(ctx, c.command.migrates); err != nil {
		return err
	}
	if c.s.Close != nil {
		defer func() { err = errors.Join(err, c.s.Close()) }()
	}
	c.desk = support.New(c.s.Options)
	return c.command.run(c, ctx)
}

// flagSet makes a flag set whose help goes to the given writer.
func (c *call) flagSet(name string, help func(io.Writer, *flag.FlagSet)) *flag.FlagSet {
	set := flag.NewFlagSet(name, flag.ContinueOnError)
	set.SetOutput(io.Discard)
	set.Usage = func() { help(c.out, set) }
	return set
}

// parse turns a mistake in flags into a usage error. The flag package calls Usage for
// mistakes, too; they get no help page.
func parse(set *flag.FlagSet, args []string) error {
	help := set.Usage
	set.Usage = func() {}
	err := set.Parse(args)
	switch {
	case errors.Is(err, flag.ErrHelp):
		help()
		return err
	case err != nil:
		return usage("%v", err)
	}
	return nil
}

// help prints the first help page.
func (c *call) help(w io.Writer, top *flag.FlagSet) {
	name := c.app.name()
	fmt.Fprintf(w, "%s looks after reminders, messages and surveys in a database of Belfry.\n\nUsage:\n\n    %s [flags] command [flags] [arguments]\n\nCommands:\n\n", name, name)
	for _, known := range commands() {
		fmt.Fprintf(w, "    %-9s %s\n", known.name, known.does)
	}
	if any := printFlags(io.Discard, top); any {
		fmt.Fprint(w, "\nFlags:\n\n")
		printFlags(w, top)
	}
	fmt.Fprintf(w, `
"%s COMMAND -h" says more about one. A command that changes something does a dry run without -yes,
and says what it would do. Tables are for people; -json is for programs.

Exit codes: 0 done, or nothing waits; 1 failed, safe to repeat; 2 invalid command line;
3 something needs attention, or differs; 4 a dry run, since -yes is missing;
5 refused or not found; 6 run it in your own program.
`, name)
}

// helpOf prints the help page of a command.
func (c *call) helpOf(w io.Writer, set *flag.FlagSet) {
	k := c.command
	fmt.Fprintf(w, "Usage: %s\n\n%s\n", strings.TrimSpace(c.app.name()+" "+k.name+" [flags] "+k.args), strings.TrimSpace(k.says))
	fmt.Fprint(w, "\nFlags:\n\n")
	printFlags(w, set)
}

// printFlags prints a line for each flag, and reports whether there is any.
func printFlags(w io.Writer, set *flag.FlagSet) (any bool) {
	set.VisitAll(func(f *flag.Flag) {
		any = true
		value, says := flag.UnquoteUsage(f)
		fmt.Fprintf(w, "    %-22s %s\n", strings.TrimSpace("-"+f.Name+" "+value), says)
	})
	return any
}

// elsewhere is the error for a service that this program does not have.
func (c *call) elsewhere(what string) error {
	return &exit{ExitElsewhere, fmt.Sprintf("%s: %s. Run it in the program that has them (docs/support.md)", c.command.name, what)}
}
