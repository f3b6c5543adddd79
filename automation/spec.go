package automation

// The names that (Automation & Reminders, "Provider contracts") uses.
type (
	IReminderTriggerProvider       = TriggerProvider
	IEventInvalidationProvider     = InvalidationProvider
	IImmediateNotificationProvider = ImmediateNotificationProvider
	IReminderRecipientProvider     = RecipientProvider
	IReminderDeliveryPolicy        = DeliveryPolicy
	IEventHandler                  = EventHandler
	IEntityEventPostProcessor      = Processor
)
