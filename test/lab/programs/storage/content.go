package storage

import (
	"crypto/md5"  //nolint:gosec // a checksum that CDI offers
	"crypto/sha1" //nolint:gosec // a checksum that CDI offers
	"crypto/sha256"
	"crypto/sha512"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubevirt-redfish/kubevirt-redfish/test/lab/programs/knob"
)

var (
	errChecksum = errors.New("checksum mismatch")
	errTooSmall = errors.New("DataVolume too small to contain image")
)

const headSize = 1024 // bytes in which a LAB-ISO line is looked for

// content is what an import wrote: nothing is kept of it but its beginning, size and sums.
type content struct {
	limit int64 // bytes that fit into the claim
	size  int64
	head  []byte
	sum   hash.Hash // SHA-256
	check hash.Hash // nil unless the DataVolume names a checksum
	want  string
}

func newContent(claim *corev1.PersistentVolumeClaim, from map[string]any) (*content, error) {
	capacity := claim.Status.Capacity[corev1.ResourceStorage]
	c := &content{limit: capacity.Value(), sum: sha256.New()}
	if claim.Spec.VolumeMode == nil || *claim.Spec.VolumeMode == corev1.PersistentVolumeFilesystem {
		c.limit = int64(float64(c.limit) * (1 - fsOverhead))
	}
	checksum, _ := from["checksum"].(string)
	if checksum == "" {
		return c, nil
	}
	algorithm, want, _ := strings.Cut(checksum, ":")
	newHash := map[string]func() hash.Hash{"md5": md5.New, "sha1": sha1.New, "sha256": sha256.New, "sha512": sha512.New}[algorithm]
	if newHash == nil {
		return nil, fmt.Errorf("unsupported checksum %q", checksum)
	}
	c.check, c.want = newHash(), want
	return c, nil
}

func (c *content) Write(p []byte) (int, error) {
	if missing := headSize - len(c.head); missing > 0 {
		c.head = append(c.head, p[:min(missing, len(p))]...)
	}
	c.size += int64(len(p))
	c.sum.Write(p)
	if c.check != nil {
		c.check.Write(p)
	}
	return len(p), nil
}

// annotations tell what came, for the claim.
func (c *content) annotations() (map[string]string, error) {
	if c.size > c.limit {
		return nil, errTooSmall
	}
	if c.check != nil {
		if got := hex.EncodeToString(c.check.Sum(nil)); !strings.EqualFold(got, c.want) {
			return nil, fmt.Errorf("%w: expected %s, got %s", errChecksum, c.want, got)
		}
	}
	out := map[string]string{
		knob.ContentSHA256: hex.EncodeToString(c.sum.Sum(nil)),
		knob.ContentSize:   strconv.FormatInt(c.size, 10),
		knob.DiskState:     "installed",
	}
	if _, after, ok := strings.Cut(string(c.head), "LAB-ISO "); ok {
		line, _, _ := strings.Cut(after, "\n")
		out[knob.ISO] = strings.TrimSpace(strings.Trim(line, "\x00"))
	}
	return out, nil
}
