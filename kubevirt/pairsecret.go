package kubevirt

import (
	"context"
	"fmt"
	"log/slog"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"

	"github.com/kubevirt-redfish/kubevirt-redfish/auth"
	"github.com/kubevirt-redfish/kubevirt-redfish/kubevirt/markers"
)

// PairSecret keeps a key pair in a Secret of type kubernetes.io/tls. It implements [auth.PairStore]. Where
// Secrets may not be used, the pair lives in memory: then it is another one after each restart.
type PairSecret struct {
	secrets corev1client.SecretInterface
	name    string
	logger  *slog.Logger
	memory  auth.Pair
	denied  bool
}

// NewPairSecret keeps the pair in the Secret of that name.
func NewPairSecret(secrets corev1client.SecretInterface, name string, logger *slog.Logger) *PairSecret {
	return &PairSecret{secrets: secrets, name: name, logger: logger}
}

var _ auth.PairStore = (*PairSecret)(nil)

// Load is part of [auth.PairStore].
func (s *PairSecret) Load(ctx context.Context) (auth.Pair, error) {
	if s.denied {
		return s.remembered()
	}
	secret, err := s.secrets.Get(ctx, s.name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return auth.Pair{}, auth.ErrNoPair
	case apierrors.IsForbidden(err):
		s.deny(err)
		return s.remembered()
	case err != nil:
		return auth.Pair{}, fmt.Errorf("secret %s: %w", s.name, err)
	}
	return pairOf(secret), nil
}

func (s *PairSecret) remembered() (auth.Pair, error) {
	if len(s.memory.Certificate) == 0 {
		return auth.Pair{}, auth.ErrNoPair
	}
	return s.memory, nil
}

func (s *PairSecret) deny(err error) {
	s.denied = true
	s.logger.Warn("the generated TLS key pair is kept in memory: its Secret may not be used", "err", err)
}

// Save is part of [auth.PairStore].
func (s *PairSecret) Save(ctx context.Context, old, pair auth.Pair) (auth.Pair, error) {
	if s.denied {
		s.memory = pair
		return pair, nil
	}
	var err error
	if len(old.Certificate) == 0 {
		_, err = s.secrets.Create(ctx, s.secretOf(pair), metav1.CreateOptions{})
	} else {
		err = s.replace(ctx, old, pair)
	}
	switch {
	case err == nil:
		return pair, nil
	case apierrors.IsAlreadyExists(err), apierrors.IsConflict(err):
		return s.Load(ctx) // another replica was first
	case apierrors.IsForbidden(err):
		s.deny(err)
		s.memory = pair
		return pair, nil
	default:
		return auth.Pair{}, fmt.Errorf("secret %s: %w", s.name, err)
	}
}

func (s *PairSecret) replace(ctx context.Context, old, pair auth.Pair) error {
	secret, err := s.secrets.Get(ctx, s.name, metav1.GetOptions{})
	if err != nil {
		return err //nolint:wrapcheck // the caller looks at its kind
	}
	if !pairOf(secret).Equal(old) {
		return apierrors.NewConflict(corev1.Resource("secrets"), s.name, nil)
	}
	secret.Data = s.secretOf(pair).Data
	_, err = s.secrets.Update(ctx, secret, metav1.UpdateOptions{})
	return err //nolint:wrapcheck // the caller looks at its kind
}

func (s *PairSecret) secretOf(pair auth.Pair) *corev1.Secret {
	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: s.name, Labels: map[string]string{markers.ManagedBy: markers.Product}},
		Type:       corev1.SecretTypeTLS,
		Data:       map[string][]byte{corev1.TLSCertKey: pair.Certificate, corev1.TLSPrivateKeyKey: pair.Key},
	}
}

func pairOf(secret *corev1.Secret) auth.Pair {
	return auth.Pair{Certificate: secret.Data[corev1.TLSCertKey], Key: secret.Data[corev1.TLSPrivateKeyKey]}
}
