// Package config reads the configuration file of the server.
//
// The file is the documented config.yaml with a few keys of our own; schemas/config.schema.json describes it, and a
// test holds that and [Config] together. What is set in several places counts in this order:
//
//  1. a command line flag (--listen, --metrics-listen),
//  2. the environment: KUBEVIRT_REDFISH_ and the key's path in capitals with _ for the dots, as in
//     KUBEVIRT_REDFISH_SERVER_PORT, for every key outside of lists,
//  3. the file,
//  4. the default ([Default]).
//
// The file is the one of --config, else of CONFIG_PATH, else the first that exists of ./config.yaml,
// ./config/config.yaml and /etc/kubevirt-redfish/config.yaml. Without a usable file there is no configuration: nothing
// is ever served with accounts that nobody wrote down. A file that becomes unusable later leaves the last good one in
// force.
//
// Numbers and truth values may be quoted. A key that is not known is a warning with the nearest known key; inside
// authentication, chassis and server.tls, where a slip of the pen would change who may do what, it is an error, and
// so everywhere when [Source].Strict is set. All that is wrong with a file is reported together ([Problems]).
//
// It imports auth. It reads the environment only through the function that it is given.
//
// Read first: [Config], [Source], [Problems].
package config
