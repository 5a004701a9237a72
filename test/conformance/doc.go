// Package conformance checks a running Redfish service against the DMTF schemas, registries and the
// parts of DSP0266 that schemas cannot express. It speaks plain HTTP to any service and knows nothing
// of the product, so that every test package can use it; it may import the JSON Schema library,
// testify and the standard library only.
//
// Read first: Schemas (validates a body), Client (who to ask), Report (what Crawl found). The rules
// are in the three tables of rules.go; each has a test that shows it failing.
//
// The schemas are not part of this module: FromEnv takes their directory from REDFISH_SCHEMA_DIR and
// skips the test when it is not set. The directory holds json/ (DSP8010 JSON Schema files),
// registries/ (DSP8011 message registries) and manifest.json (see Entry).
//
// Crawl reads, and besides sends each resource the methods that its Allow header leaves out, with an
// empty JSON object as body: aim it at a service whose contents may be lost.
package conformance
