// Package strictjson reads JSON that people have written, and says all that is
// wrong with it at once, each fault with its path: members that are unknown, are
// missing or are there twice, values of the wrong type, and null. Names of members
// are exact, and nothing may follow the value.
//
// What a member is called and whether it must be there comes from the json tags of
// the struct that is read into: without omitempty or omitzero it must.
package strictjson
