package notify

// IDeliveryDispatcher is the name that (Communication - System architecture,
// "Ensure contracts") gives to [DeliveryDispatcher].
//
//spec:n-014
type IDeliveryDispatcher = DeliveryDispatcher
