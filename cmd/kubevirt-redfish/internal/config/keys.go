package config

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
)

// keysOf maps the keys of a section to the fields of its struct.
func keysOf(section reflect.Type) map[string]int {
	keys := map[string]int{}
	for i := range section.NumField() {
		if key := section.Field(i).Tag.Get("yaml"); key != "" {
			keys[key] = i
		}
	}
	return keys
}

// unknownKey says that the key is unknown, and which known one was probably meant.
func unknownKey(path, key string, siblings map[string]int) string {
	nearest, distance := "", len(key)/2+1 // beyond half of its letters it is another word
	for _, candidate := range slices.Sorted(maps.Keys(siblings)) {
		if d := editDistance(strings.ToLower(key), candidate); d < distance {
			nearest, distance = join(path, candidate), d
		}
	}
	if nearest == "" {
		nearest = elsewhere(reflect.TypeFor[Config](), "", key)
	}
	if nearest == "" {
		return "unknown key; known here are " + strings.Join(slices.Sorted(maps.Keys(siblings)), ", ")
	}
	return fmt.Sprintf("unknown key; did you mean %s?", nearest)
}

// elsewhere finds the key in other sections of the file, for one that was put at the wrong depth.
func elsewhere(section reflect.Type, path, key string) string {
	keys := keysOf(section)
	if _, here := keys[key]; here && path != "" {
		return join(path, key)
	}
	for _, name := range slices.Sorted(maps.Keys(keys)) {
		below, at := section.Field(keys[name]).Type, join(path, name)
		if below.Kind() == reflect.Slice {
			below, at = below.Elem(), at+"[]"
		}
		if below.Kind() != reflect.Struct {
			continue
		}
		if found := elsewhere(below, at, key); found != "" {
			return found
		}
	}
	return ""
}

// editDistance counts the letters to insert, delete or replace (Levenshtein).
func editDistance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			diagonal, row[j+1] = row[j+1], min(row[j+1]+1, row[j]+1, diagonal+cost)
		}
	}
	return row[len(b)]
}
