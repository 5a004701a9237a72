package storage

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strconv"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kubevirt-redfish/kubevirt-redfish/test/lab/programs/knob"
)

const progressPeriod = 500 * time.Millisecond

// importHTTP downloads until it has succeeded, ctx ends or the checksum is wrong.
func (c *CDI) importHTTP(ctx context.Context, dv *unstructured.Unstructured, claim *corev1.PersistentVolumeClaim, from map[string]any) {
	for {
		c.show(ctx, dv, func(s status) {
			s["phase"], s["claimName"] = "ImportInProgress", claim.Name
			if s["restartCount"] == nil {
				s["restartCount"] = int64(0)
			}
			s.condition("Bound", "True", "Bound", fmt.Sprintf("PVC %s Bound", claim.Name))
			s.condition("Ready", "False", "TransferRunning", "")
			s.condition("Running", "True", "Pod is running", "")
		})
		annotations, err := c.download(ctx, dv, claim, from)
		if err == nil {
			err = c.finish(ctx, dv, claim, annotations)
		}
		if err == nil || ctx.Err() != nil {
			return
		}
		slog.Info("import failed", "datavolume", dv.GetNamespace()+"/"+dv.GetName(), "err", err)
		if errors.Is(err, errChecksum) {
			c.show(ctx, dv, func(s status) {
				s["phase"] = "Failed"
				s.condition("Ready", "False", "Error", err.Error())
				s.condition("Running", "False", "Error", err.Error())
			})
			return
		}
		c.show(ctx, dv, func(s status) {
			restarts, _ := s["restartCount"].(int64)
			s["restartCount"], s["progress"] = restarts+1, "N/A"
			s.condition("Ready", "False", "", "")
			s.condition("Running", "False", "Error", err.Error())
		})
		select {
		case <-ctx.Done():
			return
		case <-time.After(c.retry):
		}
	}
}

// show writes the status; a failure is only logged, as the next write shows the same and more.
func (c *CDI) show(ctx context.Context, dv *unstructured.Unstructured, edit func(status)) {
	if err := c.status(ctx, dv, edit); err != nil && ctx.Err() == nil {
		slog.Warn("status", "datavolume", dv.GetNamespace()+"/"+dv.GetName(), "err", err)
	}
}

// download fetches the image and returns what the claim is to be annotated with. Error texts are those of CDI's importer.
func (c *CDI) download(ctx context.Context, dv *unstructured.Unstructured, claim *corev1.PersistentVolumeClaim, from map[string]any) (map[string]string, error) {
	client, request, err := c.request(ctx, dv.GetNamespace(), from)
	if err != nil {
		return nil, err
	}
	defer client.CloseIdleConnections()
	response, err := client.Do(request)
	if err != nil {
		return nil, fmt.Errorf("Unable to connect to http data source: %w", err) //nolint:staticcheck // CDI's text
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("Unable to connect to http data source: expected status code 200, got %d. Status: %s", //nolint:staticcheck // CDI's text
			response.StatusCode, response.Status)
	}
	content, err := newContent(claim, from)
	if err != nil {
		return nil, err
	}
	if response.ContentLength > content.limit {
		return nil, errTooSmall
	}
	rate, _ := strconv.ParseInt(dv.GetAnnotations()[knob.ImportRate], 10, 64)
	body := &meter{body: response.Body, rate: rate, start: time.Now()}
	stop := c.reportProgress(ctx, dv, body, response.ContentLength)
	_, err = io.Copy(content, body)
	stop()
	if err != nil {
		return nil, fmt.Errorf("Unable to transfer source data to scratch space: %w", err) //nolint:staticcheck // CDI's text
	}
	return content.annotations()
}

// reportProgress writes the progress now and then until the returned function is called.
func (c *CDI) reportProgress(ctx context.Context, dv *unstructured.Unstructured, m *meter, total int64) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		tick := time.NewTicker(progressPeriod)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
			if total > 0 {
				percent := fmt.Sprintf("%.2f%%", 100*float64(m.read.Load())/float64(total))
				c.show(ctx, dv, func(s status) { s["progress"] = percent })
			}
		}
	}()
	return func() {
		cancel()
		<-done
	}
}

// meter counts what is read, and throttles to rate bytes per second unless that is 0.
type meter struct {
	body  io.Reader
	rate  int64
	start time.Time
	read  atomic.Int64
}

func (m *meter) Read(p []byte) (int, error) {
	if m.rate > 0 {
		p = p[:min(int64(len(p)), m.rate/5+1)]
		due := m.start.Add(time.Duration(float64(m.read.Load()) / float64(m.rate) * float64(time.Second)))
		time.Sleep(time.Until(due))
	}
	n, err := m.body.Read(p)
	m.read.Add(int64(n))
	return n, err
}
