// Package cli is Belfry's command line, for a host's own program and, over a database
// alone, for cmd/belfry: what a person asks and does at three in the morning, and what a
// script asks every minute.
//
//	func main() {
//		os.Exit(cli.Main(&cli.App{Name: "school belfry", Open: open}))
//	}
//
// It stands on package support. Each command that changes something says what it would do
// until it is told -yes, and is audited with its actor and reason. Docs: docs/support.md.
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
	// Name is how the program is called, in texts; empty: "belfry".
	Name string
	// Open makes what a command works on; the command closes it. With migrate the
	// migrations that are missing are run, without it a database that lacks some is an error.
	// A program that has all of it open already may give that, whatever migrate is.
	Open func(ctx context.Context, migrate bool) (*Services, error)
	// Flags adds those of the program itself, which stand before the command; nil: none.
	Flags func(*flag.FlagSet)
}

// Services are what commands work on. Only Store is required: a command whose part is
// missing says so, and what the parts were not told (types, channels, keys) they do not know.
type Services struct {
	// Options are the store, the domains and hooks, as of a support desk.
	support.Options
	// Poller is over the same services, with the host's Retention and Privacy. It need not
	// run. It serves retain, erase and export.
	Poller *belfry.Poller
	// Samples are the messages that preview shows.
	Samples []Sample
	// Bare says that the domains were made over a database alone: without the host's types
	// and channels, so that which of them nobody serves is not known, and without its
	// HashKey, so that nobody is found by an address.
	Bare bool
	// Close ends what Open began; nil: nothing.
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
	ExitDone      = 0 // done; of a question: nothing waits for a person
	ExitFailed    = 1 // an error; it is safe to repeat the command
	ExitUsage     = 2 // the command line is not one
	ExitNeedsYou  = 3 // of a question: something waits for a person, or differs
	ExitNotDone   = 4 // it was said what would be done: there was no -yes
	ExitRefused   = 5 // it was refused, or is not there, at least of a part
	ExitElsewhere = 6 // it has to be run in the host's own program
)

// Main runs the command of os.Args, until SIGINT or SIGTERM, and returns the exit code.
func Main(app *App) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	return Run(ctx, app, os.Args[1:], os.Stdout, os.Stderr)
}

// Run runs one command: its answer goes to stdout, what is wrong to stderr. It returns the
// exit code, and panics without an Open.
func Run(ctx context.Context, app *App, args []string, stdout, stderr io.Writer) int {
	if app == nil || app.Open == nil {
		panic("cli: Run needs an App with an Open")
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

// exit is an error that says with which code a command ends.
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

// complaint is what stderr is told.
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

// command is one of them.
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
		previewCommand, retainCommand, exportCommand, eraseCommand, reapplyCommand,
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
		return usage("there is no command %.40q", rest[0])
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

// flagSet is one whose help goes where it is asked for.
func (c *call) flagSet(name string, help func(io.Writer, *flag.FlagSet)) *flag.FlagSet {
	set := flag.NewFlagSet(name, flag.ContinueOnError)
	set.SetOutput(io.Discard)
	set.Usage = func() { help(c.out, set) }
	return set
}

// parse makes a mistake in flags one of usage. The flag package calls Usage for mistakes,
// too, which get no page of help.
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

// help is the first page.
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
"%s COMMAND -h" says more about one. What changes something does nothing without -yes,
and says what it would do. Tables are for people; -json is for programs.

Exit codes: 0 done, or nothing waits; 1 failed, safe to repeat; 2 not a command line;
3 something waits for a person, or differs; 4 nothing done, since -yes is missing;
5 refused or not found; 6 to be run in the host's own program.
`, name)
}

// helpOf is the page of a command.
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

// elsewhere says that a part is missing here.
func (c *call) elsewhere(what string) error {
	return &exit{ExitElsewhere, fmt.Sprintf("%s: %s. Run it in the program that has them (docs/support.md)", c.command.name, what)}
}
