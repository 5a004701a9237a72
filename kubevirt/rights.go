package kubevirt

import (
	"log/slog"
	"strings"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/prometheus/client_golang/prometheus"
)

// right is something that the service may not be allowed to do on the cluster, as "update
// virtualmachines/start". What is done without it stands in decide.go and in the README.
type right string

const (
	rightStart   right = "update virtualmachines/start"
	rightStop    right = "update virtualmachines/stop"
	rightRestart right = "update virtualmachines/restart"
	rightKill    right = "delete pods"
	rightExpand  right = "get virtualmachines/expand-spec"
)

// knownRights remembers which rights turned out to be missing. A right is assumed until the API server has
// refused it; it is tried again after a restart of the service.
type knownRights struct {
	mu      sync.Mutex
	missing map[right]bool
	logger  *slog.Logger
	gauge   *prometheus.GaugeVec
}

func newKnownRights(logger *slog.Logger, registry prometheus.Registerer) *knownRights {
	k := &knownRights{missing: map[right]bool{}, logger: logger, gauge: prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "kubevirt_redfish_missing_rights", Help: "1 for each right on the cluster that was refused to the service.",
	}, []string{"right", "namespace"})}
	registry.MustRegister(k.gauge)
	return k
}

// has reports whether the right has not been refused.
func (k *knownRights) has(r right) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return !k.missing[r]
}

// lacks notes a refusal; it is logged once.
func (k *knownRights) lacks(r right, namespace string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if !k.missing[r] {
		k.missing[r] = true
		k.logger.Warn("the service lacks a right on the cluster", "right", string(r), "namespace", namespace)
	}
	k.gauge.WithLabelValues(string(r), namespace).Set(1)
}

// forPower are the rights that power decisions depend on.
func (k *knownRights) forPower() rights {
	return rights{start: k.has(rightStart), stop: k.has(rightStop), restart: k.has(rightRestart), killPods: k.has(rightKill)}
}

// refusedByRBAC tells a missing right from a refusal of KubeVirt's own, which uses 403 as well.
func refusedByRBAC(err error) bool {
	return apierrors.IsForbidden(err) && strings.Contains(err.Error(), `is forbidden: User "`)
}
