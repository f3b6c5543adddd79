package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// draw makes the pictures of the documentation from the JSON that compare wrote.
func draw(path, folder string) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	var entries []entry
	if err := json.Unmarshal(text, &entries); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	for name, picture := range map[string]func([]entry) (string, error){
		"performance-peers.svg":  peersPicture,
		"performance-growth.svg": growthPicture,
	} {
		drawn, err := picture(entries)
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		if err := os.WriteFile(filepath.Join(folder, name), []byte(drawn), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// goalOf finds the entry of a goal. A picture that left one out would mislead.
func goalOf(entries []entry, goal string) (entry, error) {
	for _, e := range entries {
		if e.Goal == goal {
			return e, nil
		}
	}
	return entry{}, fmt.Errorf("there is no %s", goal)
}

// grouped is figure with a comma between thousands.
func grouped(v float64) string {
	text := figure(v)
	if strings.ContainsAny(text, ".e") {
		return text
	}
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}
