package kubevirt

import (
	"context"
	"errors"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/kubevirt-redfish/kubevirt-redfish/redfish"
)

// handle is a machine in the hands of a caller who may see it. It implements [redfish.Machine].
type handle struct {
	found
	backend *Backend
	now     time.Time
}

// ID is part of [redfish.Machine].
func (h *handle) ID() redfish.SystemID { return h.id }

// turned marks the version of a machine whose status has changed by time alone.
const turned = 1 << 63

// Version is part of [redfish.Machine].
func (h *handle) Version() redfish.Version {
	v := redfish.Version{Object: h.version, Service: h.epoch}
	if at := h.turns(); !at.IsZero() && !h.now.Before(at) {
		v.Object |= turned
	}
	return v
}

// Describe is part of [redfish.Machine].
func (h *handle) Describe() *redfish.System { return h.describe() }

const (
	// attempts bounds how often a reset is decided anew after others have changed the machine.
	attempts = 5
	// settle is how long a decision waits for the change that made the one before it fail.
	settle = 500 * time.Millisecond
	// showTimeout is how long an answer waits for reads to show its effect.
	showTimeout = 2 * time.Second
)

// Reset is part of [redfish.Machine].
func (h *handle) Reset(ctx context.Context, how redfish.ResetType) (redfish.TaskID, error) {
	m, id := h.machine, h.backend.NewID()
	var last error
	for range attempts {
		if m == nil || m.vm == nil || m.vm.uid != h.vm.uid {
			return "", redfish.ErrNotFound
		}
		if m.ahead() {
			if m = h.backend.after(ctx, m); m == nil || m.vm == nil {
				return "", redfish.ErrNotFound
			}
		}
		if restarted(how, h.machine, m) {
			return "", nil // the worker was faster with a held power-on
		}
		p := decide(m, how, moment{may: h.backend.rights.forPower(), now: h.backend.Now(), id: id})
		if p.refused != "" {
			return "", &redfish.Refusal{Kind: redfish.ErrConflict, Reason: p.refused}
		}
		again, err := h.backend.carryOut(ctx, m, p.calls)
		if err == nil {
			return h.backend.shown(ctx, m, p), nil
		}
		if !again {
			return "", err
		}
		last = err
		m = h.backend.after(ctx, m)
	}
	return "", last
}

// restarted reports whether a restart that had to be decided anew has been reached meanwhile: another instance runs
// or starts.
func restarted(how redfish.ResetType, before, now *machine) bool {
	switch how {
	case redfish.ResetGracefulRestart, redfish.ResetForceRestart, redfish.ResetPowerCycle:
		return before.live() && now.live() && !now.ending() && now.vmi.uid != before.vmi.uid
	default:
		return false
	}
}

// carryOut makes the calls of a plan in order. It reports whether a failure calls for a new decision.
func (b *Backend) carryOut(ctx context.Context, m *machine, calls []call) (again bool, err error) {
	for i, c := range calls {
		if i > 0 {
			m = b.store.get(m.key) // with what the calls before have changed
			if m == nil || m.vm == nil {
				return false, redfish.ErrNotFound
			}
		}
		if c.do == kill && m.vmi == nil {
			continue
		}
		if err := b.actor.act(ctx, m, c); err != nil {
			if again, err := b.judge(m, c, err); err != nil {
				return again, err
			}
		}
	}
	return false, nil
}

// judge says what a failed call means: nil when its purpose is reached all the same.
func (b *Backend) judge(m *machine, c call, err error) (again bool, told error) {
	switch {
	case refusedByRBAC(err):
		r, fallback := rightFor[c.do]
		if fallback {
			b.rights.lacks(r, m.namespace)
		}
		return fallback, &redfish.Refusal{Kind: redfish.ErrForbidden, Reason: "The service lacks a right on the cluster.", Err: err}
	case reached(m, c, err.Error()):
		return false, nil
	case overtaken(err):
		return true, &redfish.Refusal{Kind: redfish.ErrConflict, Reason: "KubeVirt refuses this at the moment: " + reasonOf(err), Err: err}
	case apierrors.IsNotFound(err) && (c.do == pause || c.do == unpause):
		return true, &redfish.Refusal{Kind: redfish.ErrConflict, Reason: "The machine is not running.", Err: err}
	case apierrors.IsNotFound(err):
		return false, redfish.ErrNotFound
	case apierrors.IsForbidden(err), apierrors.IsInvalid(err), apierrors.IsBadRequest(err):
		return false, &redfish.Refusal{Kind: redfish.ErrConflict, Reason: "KubeVirt refuses this: " + reasonOf(err), Err: err}
	default:
		return false, &redfish.Refusal{Kind: redfish.ErrUnavailable, Reason: "The cluster's API did not carry out the action.", Err: err}
	}
}

// reached reports whether KubeVirt refuses the call because the machine is as it would make it. One that runs
// again after a failure, or whose start is requested, may be without an instance for a moment only.
func reached(m *machine, c call, refusal string) bool {
	switch c.do {
	case stop:
		comesBack := m.vm.strategy == rerunOnFailure || m.requested(actionStart)
		return strings.Contains(refusal, "VM is not running") && !comesBack || strings.Contains(refusal, "shorter graceperiod")
	case pause:
		return strings.Contains(refusal, "already paused")
	case unpause:
		return strings.Contains(refusal, "not paused")
	default:
		return false
	}
}

// overtaken reports whether a call failed because the machine is no longer as it was read: a conflict, a
// failed test of a JSON patch, which the API server calls invalid and virt-api an internal error, or a request
// that is still being served.
func overtaken(err error) bool {
	text := err.Error()
	return apierrors.IsConflict(err) || strings.Contains(text, "already underway") ||
		strings.Contains(text, "the server rejected our request due to an error in our request")
}

// rightFor is the right whose absence has a fallback.
var rightFor = map[verb]right{start: rightStart, stop: rightStop, restart: rightRestart, kill: rightKill}

// reasonOf is the API server's own message, which names objects and fields of the machine only.
func reasonOf(err error) string {
	var status apierrors.APIStatus
	if errors.As(err, &status) {
		return status.Status().Message
	}
	return "no reason given"
}

// shown waits until reads show what the plan did, for a bounded time, and names its task.
func (b *Backend) shown(ctx context.Context, m *machine, p plan) redfish.TaskID {
	if len(p.calls) > 0 && p.shown != nil {
		began := b.Now()
		ctx, cancel := context.WithTimeout(ctx, showTimeout)
		defer cancel()
		b.store.await(ctx, m.key, func(m *machine) bool { return m == nil || m.vm == nil || p.shown(m) })
		b.metrics.lag.Observe(b.Now().Sub(began).Seconds())
	}
	if !p.held {
		return ""
	}
	if now := b.store.get(m.key); now != nil && now.hold != nil {
		return taskID(now)
	}
	return ""
}

// after is the machine once it has changed from what a failed decision was made on, or as it is after a while.
func (b *Backend) after(ctx context.Context, m *machine) *machine {
	ctx, cancel := context.WithTimeout(ctx, settle)
	defer cancel()
	b.store.await(ctx, m.key, func(now *machine) bool { return now == nil || now.version != m.version })
	return b.store.get(m.key)
}
