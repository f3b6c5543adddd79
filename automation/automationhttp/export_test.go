package automationhttp

import "reflect"

// Routes are method and path of each route.
func Routes() (out [][2]string) {
	for _, r := range (&api{}).routes() {
		out = append(out, [2]string{r.method, r.path})
	}
	return out
}

// Bodies are the structs of requests and answers, by their name in the OpenAPI
// file.
var Bodies = map[string]reflect.Type{
	"Problem":     reflect.TypeFor[problem](),
	"Fault":       reflect.TypeFor[fault](),
	"RunPage":     reflect.TypeFor[runPage](),
	"Run":         reflect.TypeFor[run](),
	"RunDetail":   reflect.TypeFor[detail](),
	"Transition":  reflect.TypeFor[transition](),
	"Ownership":   reflect.TypeFor[ownership](),
	"Delivery":    reflect.TypeFor[delivery](),
	"Coordinates": reflect.TypeFor[coordinates](),
	"File":        reflect.TypeFor[file](),
	"Message":     reflect.TypeFor[message](),
	"Order":       reflect.TypeFor[order](),
	"Asked":       reflect.TypeFor[asked](),
}
