package strictjson

import (
	"fmt"
	"strconv"
	"strings"
)

// Member is the path of a member of the object at path.
func Member(path, name string) string {
	if !plain(name) {
		return path + fmt.Sprintf("[%.40q]", name)
	}
	return Below(path, name)
}

// Element is the path of an element of the list at path.
func Element(path string, i int) string { return path + "[" + strconv.Itoa(i) + "]" }

// Below is the path that begins at path and goes on with rest.
func Below(path, rest string) string {
	if path == "" || rest == "" || rest[0] == '[' {
		return path + rest
	}
	return path + "." + rest
}

// plain reports whether a name needs no quotes in a path.
func plain(name string) bool {
	const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-$"
	return name != "" && len(name) <= 40 && strings.Trim(name, letters) == ""
}
