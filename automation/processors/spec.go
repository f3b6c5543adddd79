package processors

// The names that (Automation & Reminders, "Provider contracts") uses.
type (
	// IEventHandler is [EventHandler].
	IEventHandler = EventHandler
	// IEntityEventPostProcessor is [Processor].
	IEntityEventPostProcessor = Processor
)
