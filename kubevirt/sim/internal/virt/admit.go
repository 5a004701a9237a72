package virt

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/uuid"
	kubevirtv1 "kubevirt.io/api/core/v1"

	"github.com/kubevirt-redfish/kubevirt-redfish/kubevirt/sim/internal/resource"
	"github.com/kubevirt-redfish/kubevirt-redfish/kubevirt/sim/internal/store"
)

// AdmitCreate does what KubeVirt's webhooks do to a new object: defaults, then checks.
func (v *Virt) AdmitCreate(t *resource.Type, d *store.Draft) error {
	switch t {
	case resource.VirtualMachines:
		return admitVM(d, func(vm *vmObject) {
			if vm.Spec.Template != nil {
				setVMDefaults(&vm.Spec.Template.Spec)
			}
		})
	case resource.Namespaces:
		d.Meta.Finalizers = append(d.Meta.Finalizers, namespaceFinalizer)
	}
	return nil
}

// AdmitUpdate checks a changed object.
func (v *Virt) AdmitUpdate(t *resource.Type, d *store.Draft, old *store.Object) error {
	switch t {
	case resource.VirtualMachines:
		if old.Meta.DeletionTimestamp != nil {
			return nil
		}
		return admitVM(d, nil)
	case resource.VirtualMachineInstances:
		var before vmiObject
		var after kubevirtv1.VirtualMachineInstanceSpec
		if err := errors.Join(old.Into(&before), json.Unmarshal(d.Fields["spec"], &after)); err != nil {
			return apierrors.NewBadRequest(err.Error())
		}
		if !equality.Semantic.DeepEqual(before.Spec, after) {
			return deny("virtualmachineinstances-update-validator.kubevirt.io", cause{metav1.CauseTypeFieldValueNotSupported, "", "update of VMI object is restricted"})
		}
	}
	return nil
}

// setVMDefaults is what KubeVirt writes into the template of a new VM.
func setVMDefaults(s *kubevirtv1.VirtualMachineInstanceSpec) {
	if s.Architecture == "" {
		s.Architecture = architecture
	}
	if s.Domain.Machine == nil {
		s.Domain.Machine = &kubevirtv1.Machine{Type: machineType}
	}
	if s.Domain.Firmware == nil {
		s.Domain.Firmware = &kubevirtv1.Firmware{}
	}
	if s.Domain.Firmware.UUID == "" {
		s.Domain.Firmware.UUID = uuid.NewUUID()
	}
}

// admitVM checks the spec of a VM, and changes it first when mutate is given.
func admitVM(d *store.Draft, mutate func(*vmObject)) error {
	vm := &vmObject{}
	if raw, ok := d.Fields["spec"]; ok {
		if err := json.Unmarshal(raw, &vm.Spec); err != nil {
			return apierrors.NewBadRequest(err.Error())
		}
	}
	if mutate != nil {
		mutate(vm)
		b, err := json.Marshal(&vm.Spec)
		if err != nil {
			return fmt.Errorf("encode spec: %w", err)
		}
		d.Fields["spec"] = b
	}
	return deny(vmWebhook, checkVM(vm)...)
}

// vmWebhook is the name of the webhook that checks VMs.
const vmWebhook = "virtualmachine-validator.kubevirt.io"

// cause is one reason of a refusal.
type cause struct {
	typ            metav1.CauseType
	field, message string
}

// deny is the answer of a validating webhook; nil without causes.
func deny(webhook string, causes ...cause) error {
	if len(causes) == 0 {
		return nil
	}
	status := metav1.Status{Status: metav1.StatusFailure, Code: http.StatusUnprocessableEntity, Reason: metav1.StatusReasonInvalid, Details: &metav1.StatusDetails{}}
	texts := make([]string, len(causes))
	for i, c := range causes {
		texts[i] = c.message
		status.Details.Causes = append(status.Details.Causes, metav1.StatusCause{Type: c.typ, Message: c.message, Field: c.field})
	}
	status.Message = fmt.Sprintf("admission webhook %q denied the request: %s", webhook, strings.Join(texts, ", "))
	return &apierrors.StatusError{ErrStatus: status}
}

func checkVM(vm *vmObject) []cause {
	s := &vm.Spec
	if s.Template == nil {
		return []cause{{metav1.CauseTypeFieldValueRequired, "spec.template", "missing virtual machine template."}}
	}
	causes := checkStrategy(s)
	causes = append(causes, checkDevices(&s.Template.Spec)...)
	return append(causes, checkFirmware(&s.Template.Spec)...)
}

func checkStrategy(s *kubevirtv1.VirtualMachineSpec) []cause {
	valid := strategies{always, halted, manual, rerun, once}
	switch {
	case s.Running != nil && s.RunStrategy != nil:
		return []cause{{metav1.CauseTypeFieldValueInvalid, "spec.running", "Running and RunStrategy are mutually exclusive. Note that Running is deprecated, please use RunStrategy instead"}}
	case s.Running == nil && s.RunStrategy == nil:
		return []cause{{metav1.CauseTypeFieldValueInvalid, "spec.running", "RunStrategy must be specified"}}
	case s.RunStrategy != nil && *s.RunStrategy == kubevirtv1.RunStrategyWaitAsReceiver:
		return []cause{{metav1.CauseTypeFieldValueInvalid, "spec.runStrategy", "Invalid RunStrategy (WaitAsReceiver), DecentralizedLiveMigration feature gate is not enabled in kubevirt resource"}}
	case s.RunStrategy != nil && !slices.Contains(valid, *s.RunStrategy):
		return []cause{{metav1.CauseTypeFieldValueInvalid, "spec.runStrategy", fmt.Sprintf("Invalid RunStrategy (%s)", *s.RunStrategy)}}
	}
	return nil
}

const domainPath = "spec.template.spec.domain"

func checkDevices(s *kubevirtv1.VirtualMachineInstanceSpec) []cause {
	var causes []cause
	seen := map[uint]bool{}
	check := func(o *uint, path string) {
		switch {
		case o == nil:
		case *o == 0:
			causes = append(causes, cause{metav1.CauseTypeFieldValueInvalid, path + ".bootOrder", path + " must have a boot order > 0, if supplied"})
		case seen[*o]:
			causes = append(causes, cause{metav1.CauseTypeFieldValueInvalid, path + ".bootOrder", "Boot order for " + path + ".bootOrder already set for a different device."})
		default:
			seen[*o] = true
		}
	}
	names := map[string]bool{}
	for i, nic := range s.Domain.Devices.Interfaces {
		check(nic.BootOrder, fmt.Sprintf("%s.devices.interfaces[%d]", domainPath, i))
	}
	for i, disk := range s.Domain.Devices.Disks {
		path := fmt.Sprintf("%s.devices.disks[%d]", domainPath, i)
		check(disk.BootOrder, path)
		if names[disk.Name] {
			causes = append(causes, cause{metav1.CauseTypeFieldValueDuplicate, path + ".name", path + " and " + path + " must not have the same Name."})
		}
		names[disk.Name] = true
		if disk.CDRom == nil && volumeNamed(s.Volumes, disk.Name) == nil { // an empty CD-ROM drive is allowed
			causes = append(causes, cause{metav1.CauseTypeFieldValueInvalid, path + ".name", fmt.Sprintf("%s.Name '%s' not found.", path, disk.Name)})
		}
	}
	return append(causes, checkVolumes(s, names)...)
}

func checkVolumes(s *kubevirtv1.VirtualMachineInstanceSpec, disks map[string]bool) []cause {
	var causes []cause
	for _, fs := range s.Domain.Devices.Filesystems {
		disks[fs.Name] = true
	}
	for i, vol := range s.Volumes {
		if !disks[vol.Name] && vol.MemoryDump == nil {
			path := fmt.Sprintf("spec.template.spec.domain.volumes[%d].name", i)
			causes = append(causes, cause{metav1.CauseTypeFieldValueInvalid, path, fmt.Sprintf("%s '%s' not found.", path, vol.Name)})
		}
	}
	return causes
}

func checkFirmware(s *kubevirtv1.VirtualMachineInstanceSpec) []cause {
	f := s.Domain.Firmware
	if f == nil || f.Bootloader == nil || f.Bootloader.EFI == nil || (f.Bootloader.EFI.SecureBoot != nil && !*f.Bootloader.EFI.SecureBoot) {
		return nil
	}
	if features := s.Domain.Features; features != nil && features.SMM != nil && (features.SMM.Enabled == nil || *features.SMM.Enabled) {
		return nil
	}
	if s.Domain.LaunchSecurity != nil && s.Domain.LaunchSecurity.TDX != nil {
		return nil
	}
	return []cause{{metav1.CauseTypeFieldValueInvalid, domainPath,
		domainPath + " has EFI SecureBoot enabled. SecureBoot requires SMM, which is currently disabled."}}
}
