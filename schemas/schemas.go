// Package schemas holds the machine-readable descriptions that the product publishes.
//
// It imports nothing. Read first: [Config].
package schemas

import _ "embed"

// Config is the JSON Schema (draft 2020-12) of the configuration file.
//
//go:embed config.schema.json
var Config []byte
