package redfish

import (
	"errors"
	"log/slog"
	"net/http"
	"slices"
)

const resetAction = "ComputerSystem.Reset"

// reset is the action ComputerSystem.Reset: 204 when it is done or was already so, 202 with a task when it
// is held back.
func reset(c *call) error {
	m, err := c.machine()
	if err != nil {
		return err
	}
	params, err := c.parameters(resetAction, "ResetType")
	if err != nil {
		return err
	}
	asked, err := params.required("ResetType")
	if err != nil {
		return err
	}
	how := ResetType(asked)
	if !slices.Contains(m.Describe().Resets, how) {
		return &Error{Status: http.StatusBadRequest, Message: MsgActionParameterValueNotInList, Args: []string{shorten(asked, longestValue), "ResetType", resetAction}}
	}
	c.changes = append(c.changes, slog.String("reset", asked))
	task, err := m.Reset(c.r.Context(), how)
	switch {
	case errors.Is(err, ErrConflict):
		return &Error{Status: http.StatusConflict, Message: MsgActionParameterValueConflict, Args: []string{"ResetType", asked}, Err: err}
	case err != nil:
		return err
	case task != "":
		return c.accepted(task)
	}
	c.noContent()
	return nil
}
