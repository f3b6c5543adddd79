package automation

// wrapper is a handler that says something about another one.
type wrapper interface {
	Handler
	unwrap() Handler
}

// wrapped finds the wrapper of that type around a handler.
func wrapped[W wrapper](h Handler) (W, bool) {
	for {
		if w, ok := h.(W); ok {
			return w, true
		}
		around, ok := h.(wrapper)
		if !ok {
			var none W
			return none, false
		}
		h = around.unwrap()
	}
}
