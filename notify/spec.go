package notify

// IDeliveryDispatcher is the name that (Communication - System architecture,
// "Ensure contracts") gives to [DeliveryDispatcher].
type IDeliveryDispatcher = DeliveryDispatcher
