package main

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/belfry-go/belfry/notify/channel"
	"github.com/belfry-go/belfry/storage/memory"
)

// parse reads a YAML file into out, which has to have all that the file has.
func parse(t *testing.T, name string, out any) {
	t.Helper()
	file, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	d := yaml.NewDecoder(file)
	d.KnownFields(true)
	if err := d.Decode(out); err != nil {
		t.Fatal(name, err)
	}
}

type composeFile struct {
	Services map[string]struct {
		Image       string
		Environment map[string]string
		Ports       []string
		Volumes     []string
		ExtraHosts  []string `yaml:"extra_hosts"`
		Healthcheck struct {
			Test     []string
			Interval string
			Retries  int
		}
	}
}

// Every file that a container gets is here, every image names its version, and no port is
// open to others than this machine.
func TestTheServicesNameFilesThatExist(t *testing.T) {
	t.Parallel()
	var c composeFile
	parse(t, "compose.yml", &c)
	if got := slices.Sorted(maps.Keys(c.Services)); !slices.Equal(got, []string{"grafana", "mail", "postgres", "prometheus"}) {
		t.Errorf("services: %q", got)
	}
	version, files := regexp.MustCompile(`^[\w/.-]+:v?\d`), 0
	for name, s := range c.Services {
		if !version.MatchString(s.Image) {
			t.Errorf("%s: the image %q has no version", name, s.Image)
		}
		for _, port := range s.Ports {
			if !strings.HasPrefix(port, "127.0.0.1:") {
				t.Errorf("%s: port %s is open to everybody", name, port)
			}
		}
		for _, v := range s.Volumes {
			parts := strings.Split(v, ":")
			if info, err := os.Stat(parts[0]); err != nil || info.IsDir() || len(parts) != 3 || parts[2] != "ro" {
				t.Errorf("%s: %s: %v", name, v, err)
			}
			files++
		}
	}
	if files < 5 {
		t.Errorf("%d files", files)
	}
}

// What the services say of each other fits: Prometheus loads the rules from where they are
// mounted and asks the program's port, Grafana asks Prometheus and finds the dashboard.
func TestTheServicesFindEachOther(t *testing.T) {
	t.Parallel()
	var c composeFile
	parse(t, "compose.yml", &c)
	mounted := func(service, file string) (found bool) {
		for _, v := range c.Services[service].Volumes {
			found = found || strings.Split(v, ":")[1] == file
		}
		return found
	}
	var p struct {
		Global    map[string]string
		RuleFiles []string `yaml:"rule_files"`
		Scrape    []struct {
			Name   string                       `yaml:"job_name"`
			Static []struct{ Targets []string } `yaml:"static_configs"`
		} `yaml:"scrape_configs"`
	}
	parse(t, "prometheus.yml", &p)
	if len(p.RuleFiles) != 1 || !mounted("prometheus", p.RuleFiles[0]) || !mounted("prometheus", "/etc/prometheus/prometheus.yml") {
		t.Errorf("the rules %q are not mounted", p.RuleFiles)
	}
	host, _, _ := strings.Cut(p.Scrape[0].Static[0].Targets[0], ":")
	if !slices.Contains(c.Services["prometheus"].ExtraHosts, host+":host-gateway") || !strings.HasSuffix(p.Scrape[0].Static[0].Targets[0], ":9464") {
		t.Errorf("Prometheus asks %q", p.Scrape)
	}
	var sources struct {
		APIVersion  int `yaml:"apiVersion"`
		Datasources []struct {
			Name, Type, URL string
			IsDefault       bool `yaml:"isDefault"`
		}
	}
	parse(t, "grafana/datasources.yml", &sources)
	if s := sources.Datasources[0]; s.Type != "prometheus" || s.URL != "http://prometheus:9090" || !s.IsDefault {
		t.Errorf("Grafana asks %+v", s)
	}
	var boards struct {
		APIVersion int `yaml:"apiVersion"`
		Providers  []struct {
			Name, Type string
			Options    struct{ Path string }
		}
	}
	parse(t, "grafana/dashboards.yml", &boards)
	if path := boards.Providers[0].Options.Path; !mounted("grafana", filepath.Join(path, "belfry.json")) {
		t.Errorf("no dashboard in %s", path)
	}
	if board, err := os.ReadFile("../../deploy/monitoring/dashboard.json"); err != nil || !json.Valid(board) {
		t.Error("the dashboard is no JSON", err)
	}
}

var (
	asked = regexp.MustCompile(`\bbelfry_[a-z_]+`)
	shown = regexp.MustCompile(`(?m)^(belfry_[a-z_]+)[{ ]`)
	ends  = regexp.MustCompile(`(_seconds)?(_total|_bucket|_sum|_count|_ratio)?$`)
)

// The metrics that the real exporter shows have the names that rules and dashboard ask for,
// as far as a program that sends a mail shows any.
func TestTheExporterNamesMetricsAsTheRulesDo(t *testing.T) {
	t.Parallel()
	sent := make(chan struct{}, 1)
	p, err := newProgram(memory.New(nil), channel.Func(mailKey, func(context.Context, channel.Message) (channel.Receipt, error) {
		sent <- struct{}{}
		return channel.Receipt{ID: "1"}, nil
	}))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- p.poller.Run(ctx) }()
	if err := p.want(ctx, time.Unix(0, 0)); err != nil {
		t.Fatal(err)
	}
	<-sent
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) { // what was sent is counted
		t.Error(err)
	}
	answer := httptest.NewRecorder()
	p.metrics.ServeHTTP(answer, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/metrics", nil))
	names, stems := map[string]bool{}, map[string]string{}
	for _, m := range shown.FindAllStringSubmatch(answer.Body.String(), -1) {
		names[m[1]], stems[ends.ReplaceAllString(m[1], "")] = true, m[1]
	}
	met := 0
	for _, file := range []string{"alerts.yml", "dashboard.json"} {
		text, err := os.ReadFile("../../deploy/monitoring/" + file)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range asked.FindAllString(string(text), -1) {
			if like := stems[ends.ReplaceAllString(name, "")]; names[name] {
				met++
			} else if like != "" {
				t.Errorf("%s asks for %s, and the exporter says %s", file, name, like)
			}
		}
	}
	if met < 5 {
		t.Errorf("rules and dashboard met %d of what is shown:\n%s", met, answer.Body)
	}
}
