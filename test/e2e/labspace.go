package e2e

import (
	"context"
	_ "embed"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/kubevirt-redfish/kubevirt-redfish/auth"
	"github.com/kubevirt-redfish/kubevirt-redfish/manifests"
)

// Rights are what a product may do on the lab: the name of a ClusterRole.
type Rights string

const (
	// OurRights are those of manifests.
	OurRights Rights = "kubevirt-redfish-role"
	// DocumentedRights are those of installations that change the image alone.
	DocumentedRights Rights = "documented"
)

//go:embed testdata/documented-clusterrole.yaml
var documentedRole string

// manifest is one of our own.
func manifest(name string) string {
	text, err := manifests.Files.ReadFile("rbac/" + name + ".yaml")
	if err != nil {
		panic(err) // embedded
	}
	return string(text)
}

// Space is a namespace of one test on the lab, with the machines and the service account of the product.
type Space struct {
	*Lab
	// Name of the namespace; it is also that of the chassis with all its machines.
	Name string
	// Account reaches the lab as the product does: with the token of its service account.
	Account *rest.Config
}

// NewSpace makes a namespace until the test ends. Without a lab the test is skipped.
func NewSpace(t *testing.T, rights Rights) *Space {
	t.Helper()
	if lab == nil {
		t.Skip("needs a real control plane: make test-lab")
	}
	namespaces := lab.kube.CoreV1().Namespaces()
	made, err := namespaces.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "e2e-"}}, metav1.CreateOptions{})
	require.NoError(t, err)
	s := &Space{Lab: lab, Name: made.Name}
	t.Cleanup(func() {
		require.NoError(t, namespaces.Delete(context.WithoutCancel(t.Context()), s.Name, metav1.DeleteOptions{}))
	})
	s.install(t, rights)
	s.Account = s.token(t)
	return s
}

// install applies our manifests as they are but for the namespace, and for the role under other rights.
func (s *Space) install(t *testing.T, rights Rights) {
	t.Helper()
	binding := strings.Replace(manifest("bind-namespace"), string(OurRights), string(rights), 1)
	binding = strings.Replace(binding, "metadata:\n", "metadata:\n  namespace: kubevirt-redfish\n", 1)
	for _, text := range []string{manifest("serviceaccount"), manifest("own"), binding} {
		require.NoError(t, s.apply(t.Context(), s.moved(text)))
	}
}

// moved is a manifest with the test's namespace in the place of ours.
func (s *Space) moved(text string) string {
	return strings.ReplaceAll(text, "namespace: kubevirt-redfish", "namespace: "+s.Name)
}

// token logs in as the service account, once its rights have arrived.
func (s *Space) token(t *testing.T) *rest.Config {
	t.Helper()
	request, err := s.kube.CoreV1().ServiceAccounts(s.Name).CreateToken(t.Context(), "kubevirt-redfish", &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	require.NoError(t, err)
	account := rest.AnonymousClientConfig(s.admin)
	account.BearerToken = request.Status.Token
	client, err := kubernetes.NewForConfig(account)
	require.NoError(t, err)
	for _, needed := range []authorizationv1.ResourceAttributes{
		{Namespace: s.Name, Verb: "watch", Group: "kubevirt.io", Resource: "virtualmachines"},
		{Namespace: s.Name, Verb: "create", Resource: "secrets"},
	} {
		review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: &needed}}
		require.Eventually(t, func() bool {
			answer, err := client.AuthorizationV1().SelfSubjectAccessReviews().Create(t.Context(), review, metav1.CreateOptions{})
			return err == nil && answer.Status.Allowed
		}, 30*time.Second, 50*time.Millisecond, "%s may not %s", needed.Resource, needed.Verb)
	}
	return account
}

// Serve starts a product for the machines of the namespace, as its service account.
func (s *Space) Serve(t *testing.T) *Product {
	t.Helper()
	p := Start(t, Config{
		Cluster: s.Account,
		Chassis: []auth.Chassis{{Name: auth.ChassisName(s.Name), Namespace: s.Name}},
		Users:   []auth.Account{User(t, Admin, auth.Administrator, auth.AllChassis)},
	})
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(p.Log.String())
		}
	})
	return p
}

// patchNode applies a merge patch.
func (l *Lab) patchNode(ctx context.Context, name, patch string) error {
	_, err := l.kube.CoreV1().Nodes().Patch(ctx, name, types.MergePatchType, []byte(patch), metav1.PatchOptions{})
	return err //nolint:wrapcheck // says what it is about
}
