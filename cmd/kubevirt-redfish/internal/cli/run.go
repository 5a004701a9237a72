package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kubevirt-redfish/kubevirt-redfish/cmd/kubevirt-redfish/internal/config"
)

const program = "kubevirt-redfish"

// What the process exits with.
const (
	ExitOK = 0
	// ExitFailure is a failure while running.
	ExitFailure = 1
	// ExitUsage is a command line or a configuration that is not right.
	ExitUsage = 2
)

// Commands is the work behind the command line. Both functions run until ctx ends.
type Commands struct {
	Serve    func(context.Context, ServeOptions) error
	Simulate func(context.Context, SimulateOptions) error
}

// Streams is where the process reads and writes.
type Streams struct {
	In       io.Reader
	Out, Err io.Writer
}

// usageError is a command line that is not right.
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

// Run executes the command line (without the program's name) and returns the exit code. An error is written to Streams.Err,
// one line for each thing that is wrong.
func Run(ctx context.Context, args []string, s Streams, c Commands) int {
	args, err := modernise(args)
	if err == nil {
		err = execute(ctx, args, s, c)
	}
	for _, line := range linesOf(err) {
		_, _ = fmt.Fprintf(s.Err, "%s: %s\n", program, line)
	}
	return exitCode(err)
}

func execute(ctx context.Context, args []string, s Streams, c Commands) error {
	root := newRoot(s, c)
	root.SetArgs(args)
	// Cobra does not mark its own errors about the command line; whatever fails before a command runs is one.
	started := false
	root.PersistentPreRun = func(*cobra.Command, []string) { started = true }
	command, err := root.ExecuteContextC(ctx)
	if err != nil && !started {
		return usageError{fmt.Errorf("%w (see %s --help)", err, command.CommandPath())}
	}
	return err
}

func newRoot(s Streams, c Commands) *cobra.Command {
	root := newServe(c.Serve)
	root.Use = program
	root.Short = "Redfish for the virtual machines of KubeVirt"
	root.Long = "Serves virtual machines of KubeVirt as Redfish machines. Without a command it serves, with the flags below."
	root.Version = ThisBuild().String()
	root.Args = knownCommand
	root.SilenceErrors, root.SilenceUsage = true, true
	root.CompletionOptions.HiddenDefaultCmd = true
	root.SetVersionTemplate(program + " {{.Version}}\n")
	root.SetIn(s.In)
	root.SetOut(s.Out)
	root.SetErr(s.Err)
	root.AddCommand(newServe(c.Serve), newSimulate(c.Simulate), newConfig(), newHashPassword(), newVersion())
	return root
}

// knownCommand is for the root, where an argument can only be a command that does not exist.
func knownCommand(root *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	if root.Flags().Changed("simulate") {
		return fmt.Errorf("unexpected argument %q; a fleet file is given as --simulate=FILE", args[0])
	}
	for _, near := range root.SuggestionsFor(args[0]) {
		return fmt.Errorf("unknown command %q; did you mean %s?", args[0], near)
	}
	return fmt.Errorf("unknown command %q", args[0])
}

func exitCode(err error) int {
	if err == nil {
		return ExitOK
	}
	_, usage := errors.AsType[usageError](err)
	_, configuration := errors.AsType[config.Problems](err)
	if usage || configuration {
		return ExitUsage
	}
	return ExitFailure
}

// linesOf is the error in lines: each problem of a configuration has its own.
func linesOf(err error) []string {
	if err == nil {
		return nil
	}
	if problems, ok := errors.AsType[config.Problems](err); ok {
		if where, found := strings.CutSuffix(err.Error(), problems.Error()); found {
			lines := make([]string, len(problems))
			for i := range problems {
				lines[i] = oneLine(where + problems[i].String())
			}
			return lines
		}
	}
	return []string{oneLine(err.Error())}
}

func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }
