package main

func Example() {
	main()
	// Output:
	// 5000 members, 5 of them without an address, the first in line 502
	// A dry run would make 4990 mails; 5 members are in the file twice; the first mail says:
	//   Dear Member 0, your voucher is SPRING-000000.
	// A fire! One poll later 1 alarm is out; half of the crowd still waits: true
	// Generated: 4990 made, 5 skipped, 5 repeated; 4991 mails with the alarm, 0 doubled
	// Generated: 4990 made, 5 skipped, 5 repeated; 4991 mails with the alarm, 0 doubled
}
