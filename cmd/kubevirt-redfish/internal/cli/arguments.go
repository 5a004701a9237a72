package cli

import (
	"errors"
	"slices"
	"strings"
)

// modernise rewrites the flags that older deployments give with one dash, such as -config FILE.
func modernise(args []string) ([]string, error) {
	args = slices.Clone(args)
	for i, arg := range args {
		if arg == "--" {
			break
		}
		name, _, _ := strings.Cut(arg, "=")
		switch name {
		case "-config", "-kubeconfig", "-version":
			args[i] = "-" + arg
		case "-create-config", "--create-config":
			return nil, usageError{errors.New(
				"--create-config is not offered: write the file by the documented example and try it with: " +
					program + " config check FILE")}
		}
	}
	return args, nil
}
