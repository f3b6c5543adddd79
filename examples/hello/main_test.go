package main

func Example() {
	main()
	// Output:
	// sam@example.com - Your first-aid certificate expires on 2026-05-01
	// <nil> <nil> <nil>
}
