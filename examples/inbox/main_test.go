package main

func Example() {
	main()
	// Output:
	// ada has 2 unread:
	//   Class 7b is in room 3 (Unseen)
	//   Class 7a is in room 12 (Unseen)
	// ada marks one as Read: 1 changed.
	// ada has 1 unread:
	//   Class 7b is in room 3 (Read)
	//   Class 7a is in room 12 (Unseen)
	// ben has 2 unread:
	//   Class 7b is in room 3 (Unseen)
	//   Class 7a is in room 12 (Unseen)
	// ben marks one as Archived: 1 changed.
	// ben has 1 unread:
	//   Class 7b is in room 3 (Unseen)
}
