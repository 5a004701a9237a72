package lab

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

// process is the record of a started program, kept in the state folder. The start time makes sure that a signal never reaches another
// process that got the same id later.
type process struct {
	Name    string `json:"name"`
	PID     int    `json:"pid"`
	Started string `json:"started"` // in clock ticks since boot, field 22 of /proc/PID/stat
}

// start runs a program in a session of its own, so that it outlives us, with its output in logs/NAME.log.
func (s state) start(name string, argv ...string) error {
	log, err := os.OpenFile(filepath.Join(s.logs(), name+".log"), os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	defer func() { _ = log.Close() }()
	cmd := exec.Command(argv[0], argv[1:]...) //nolint:noctx,gosec // our own program, meant to live on
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start %s: %w", name, err)
	}
	p := process{Name: name, PID: cmd.Process.Pid}
	go func() { _ = cmd.Wait() }() // a zombie would look alive; ends with the process or with us
	stat, err := procStat(p.PID)
	if err != nil {
		return fmt.Errorf("%s ended at once, see %s", name, log.Name())
	}
	p.Started = stat.started
	raw, err := json.Marshal(p)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(s.processes(), name+".json"), raw, 0o600)
}

// recorded returns the processes of the lab, whether they live or not.
func (s state) recorded() ([]process, error) {
	files, err := filepath.Glob(filepath.Join(s.processes(), "*.json"))
	if err != nil {
		return nil, err
	}
	var out []process
	for _, file := range files {
		raw, err := os.ReadFile(file) //nolint:gosec // our own folder
		if err != nil {
			return nil, err
		}
		var p process
		if err := json.Unmarshal(raw, &p); err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		out = append(out, p)
	}
	return out, nil
}

// dead names the processes that were started and do not live any more.
func (s state) dead() ([]string, error) {
	all, err := s.recorded()
	if err != nil {
		return nil, err
	}
	all = slices.DeleteFunc(all, process.alive)
	names := make([]string, len(all))
	for i, p := range all {
		names[i] = p.Name
	}
	return names, nil
}

func (p process) alive() bool {
	stat, err := procStat(p.PID)
	return err == nil && stat.started == p.Started && stat.state != "Z"
}

// stop ends the process: SIGTERM, and SIGKILL when it still lives after patience.
func (p process) stop(patience time.Duration) error {
	if !p.alive() {
		return nil
	}
	if err := syscall.Kill(p.PID, syscall.SIGTERM); err != nil && !errors.Is(err, syscall.ESRCH) {
		return fmt.Errorf("stop %s: %w", p.Name, err)
	}
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(patience); p.alive(); <-tick.C {
		if time.Now().After(deadline) {
			return syscall.Kill(p.PID, syscall.SIGKILL)
		}
	}
	return nil
}

type stat struct {
	state   string // R, S, Z …
	started string
}

func procStat(pid int) (stat, error) {
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return stat{}, err
	}
	_, after, _ := strings.Cut(string(raw), ") ") // the name before it may hold blanks
	fields := strings.Fields(after)
	if len(fields) < 20 {
		return stat{}, fmt.Errorf("/proc/%d/stat: %d fields", pid, len(fields))
	}
	return stat{state: fields[0], started: fields[19]}, nil
}

// memory is the resident set in bytes, 0 for a dead process.
func (p process) memory() int64 {
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", p.PID))
	if err != nil {
		return 0
	}
	var size, resident int64
	if _, err := fmt.Sscan(string(raw), &size, &resident); err != nil {
		return 0
	}
	return resident * int64(os.Getpagesize())
}
