package main

func Example() {
	main()
	// Output:
	// nowhere: FailedFinal 404
	// the storm: SentToProvider
	// the tower: SentToProvider
	// The loft calls back about the storm: 403 Forbidden
	// The loft calls back about the storm: 204 No Content
	// The loft calls back about the storm: 204 No Content
	// The loft calls back about the tower: 403 Forbidden
	// The loft calls back about the tower: 204 No Content
	// The loft calls back about the tower: 204 No Content
	// nowhere: FailedFinal 404
	// the storm: FailedFinal lost
	// the tower: Delivered
}
