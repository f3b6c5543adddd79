package main

func Example() {
	main()
	// Output:
	//            what happens              taken  event       Sara  Tom  Dana   Fay
	// Mon 09:00  bookings                  15     Applied     .     .    .      .
	// Mon 10:00  a booking: nearly full    16     Applied     any   16   16     16
	// Mon 10:01  the same event once more  16     Applied     .     .    .      .
	// Mon 12:00  two cancel                14     Applied     .     .    .      .
	// Mon 15:00  nearly full again         17     Applied     .     .    .      16
	// Tue 09:00  next day, a booking       18     Applied     .     .    16     .
	// Tue 11:00  full                      20     Applied     .     20   20     20
	// Tue 12:00  five cancel               15     Applied     .     .    .      .
	// Tue 12:05  one of before that, late  19     StaleEvent  .     .    .      .
	// Wed 09:00  a group: full at once     20     Applied     .     .    16 20  16 20
	// Wed 17:00  three cancel              17     Applied     .     .    .      .
	// Wed 18:00  full again                20     Applied     .     .    .      20
	// Thu 09:00  nothing                   20                 .     .    .      .
	//
	// Sara, OncePerSource:
	//   reminder:Sara:class:yoga:default:threshold:taken:any:OncePerSource:source
	//
	// Tom, OncePerThreshold:
	//   reminder:Tom:class:yoga:default:threshold:taken:16:OncePerThreshold:source
	//   reminder:Tom:class:yoga:default:threshold:taken:20:OncePerThreshold:source
	//
	// Dana, OncePerDay:
	//   reminder:Dana:class:yoga:default:threshold:taken:16:OncePerDay:source@2026-03-02
	//   reminder:Dana:class:yoga:default:threshold:taken:16:OncePerDay:source@2026-03-03
	//   reminder:Dana:class:yoga:default:threshold:taken:20:OncePerDay:source@2026-03-03
	//   reminder:Dana:class:yoga:default:threshold:taken:16:OncePerDay:source@2026-03-04
	//   reminder:Dana:class:yoga:default:threshold:taken:20:OncePerDay:source@2026-03-04
	//
	// Fay, FalseToTrue:
	//   reminder:Fay:class:yoga:default:threshold:taken:16:FalseToTrue:source@1
	//   reminder:Fay:class:yoga:default:threshold:taken:16:FalseToTrue:source@2
	//   reminder:Fay:class:yoga:default:threshold:taken:20:FalseToTrue:source@1
	//   reminder:Fay:class:yoga:default:threshold:taken:16:FalseToTrue:source@3
	//   reminder:Fay:class:yoga:default:threshold:taken:20:FalseToTrue:source@2
	//   reminder:Fay:class:yoga:default:threshold:taken:20:FalseToTrue:source@3
}
