package cli

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/kubevirt-redfish/kubevirt-redfish/auth"
)

func newHashPassword() *cobra.Command {
	return &cobra.Command{
		Use:   "hash-password",
		Short: "Make the hash of a password for the configuration file",
		Long: "Reads a password from standard input (its first line), or asks for it on a terminal, and prints its bcrypt hash " +
			"for password: {hash: ...}. A password is never an argument: other users of the machine could see it.",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return errors.New("the password is read from standard input, not from the arguments")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error {
			password, err := readPassword(cmd.InOrStdin(), cmd.ErrOrStderr())
			if err != nil {
				return fmt.Errorf("read the password: %w", err)
			}
			hash, err := auth.HashPassword(password)
			if err != nil {
				return err
			}
			_, err = fmt.Fprintln(cmd.OutOrStdout(), hash)
			return err
		},
	}
}

// readPassword asks twice, without echo, on a terminal; elsewhere it reads the first line.
func readPassword(in io.Reader, prompt io.Writer) (string, error) {
	file, ok := in.(*os.File)
	if !ok || !term.IsTerminal(int(file.Fd())) {
		line, err := bufio.NewReader(in).ReadString('\n')
		if err != nil && !errors.Is(err, io.EOF) {
			return "", err
		}
		return strings.TrimRight(line, "\r\n"), nil
	}
	var typed [2]string
	for i, question := range []string{"Password: ", "Again: "} {
		_, _ = io.WriteString(prompt, question)
		text, err := term.ReadPassword(int(file.Fd()))
		_, _ = io.WriteString(prompt, "\n")
		if err != nil {
			return "", err
		}
		typed[i] = string(text)
	}
	if typed[0] != typed[1] {
		return "", errors.New("the two are not the same")
	}
	return typed[0], nil
}
