package repotest

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/metric"
	metricnoop "go.opentelemetry.io/otel/metric/noop"

	"github.com/belfry-go/belfry"
	"github.com/belfry-go/belfry/automation"
	"github.com/belfry-go/belfry/automation/processors"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/notify/notifyhttp"
	"github.com/belfry-go/belfry/storage/memory"
	"github.com/belfry-go/belfry/survey"
)

// registry notes the metrics that a program makes: what Prometheus calls them, by name.
type registry struct {
	metricnoop.MeterProvider
	prometheus map[string][]string
	gauges     map[string]bool
}

func (r *registry) Meter(string, ...metric.MeterOption) metric.Meter { return registering{r: r} }

type registering struct {
	metricnoop.Meter
	r *registry
}

// add notes a metric by the rules of OpenTelemetry's exporter.
func (m registering) add(name, unit string, suffixes ...string) {
	base := strings.ReplaceAll(name, ".", "_")
	if unit != "" {
		base += "_" + map[string]string{"s": "seconds"}[unit]
	}
	for _, s := range suffixes {
		m.r.prometheus[name] = append(m.r.prometheus[name], base+s)
	}
}

func (m registering) Int64Counter(name string, o ...metric.Int64CounterOption) (metric.Int64Counter, error) {
	m.add(name, metric.NewInt64CounterConfig(o...).Unit(), "_total")
	return m.Meter.Int64Counter(name, o...)
}

func (m registering) Float64Histogram(name string, o ...metric.Float64HistogramOption) (metric.Float64Histogram, error) {
	m.add(name, metric.NewFloat64HistogramConfig(o...).Unit(), "_bucket", "_sum", "_count")
	return m.Meter.Float64Histogram(name, o...)
}

func (m registering) Int64ObservableGauge(name string, o ...metric.Int64ObservableGaugeOption) (metric.Int64ObservableGauge, error) {
	m.add(name, metric.NewInt64ObservableGaugeConfig(o...).Unit(), "")
	m.r.gauges[name] = true
	return m.Meter.Int64ObservableGauge(name, o...)
}

func (m registering) Float64ObservableGauge(name string, o ...metric.Float64ObservableGaugeOption) (metric.Float64ObservableGauge, error) {
	m.add(name, metric.NewFloat64ObservableGaugeConfig(o...).Unit(), "")
	m.r.gauges[name] = true
	return m.Meter.Float64ObservableGauge(name, o...)
}

// registered are the metrics of a program with everything in it.
func registered(t *testing.T) *registry {
	t.Helper()
	r := &registry{prometheus: map[string][]string{}, gauges: map[string]bool{}}
	store := memory.New(nil)
	out := notify.New(store, nil)
	reminders := automation.New(store, out, &automation.Options{MeterProvider: r})
	processors.New(&processors.Options{MeterProvider: r})
	notifyhttp.Webhooks(out, &notifyhttp.WebhookOptions{MeterProvider: r})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	p := belfry.NewPoller(store, &belfry.Options{MeterProvider: r}, reminders, out, survey.New(store, out, nil))
	if err := p.Run(ctx); !errors.Is(err, ctx.Err()) {
		t.Fatal(err)
	}
	return r
}

// documented are the metrics that docs/monitoring.md lists.
func documented(t *testing.T) []string {
	t.Helper()
	_, list, _ := strings.Cut(read(t, "docs/monitoring.md"), "\n## Metrics\n")
	list, _, _ = strings.Cut(list, "\n### ")
	var out []string
	for line := range strings.Lines(list) {
		if names, _, ok := strings.Cut(line, ": "); ok && strings.HasPrefix(line, "- ") {
			names, _, _ = strings.Cut(names, " (")
			for _, name := range regexp.MustCompile("`([^`]*)`").FindAllStringSubmatch(names, -1) {
				out = append(out, "belfry."+name[1])
			}
		}
	}
	slices.Sort(out)
	return out
}

// The list of metrics has all that the code makes, and no other.
func TestEveryMetricIsDocumented(t *testing.T) {
	t.Parallel()
	if diff := cmp.Diff(slices.Sorted(maps.Keys(registered(t).prometheus)), documented(t)); diff != "" {
		t.Errorf("docs/monitoring.md (-made +documented):\n%s", diff)
	}
}

// Rules and dashboard ask for metrics that there are, by the names that they have in
// Prometheus, and no gauge is left out.
func TestAlertsAndDashboardAskForMetricsThatExist(t *testing.T) {
	t.Parallel()
	r := registered(t)
	known := map[string]string{}
	for name, all := range r.prometheus {
		for _, p := range all {
			known[p] = name
		}
	}
	for _, file := range []string{"deploy/monitoring/alerts.yml", "deploy/monitoring/dashboard.json"} {
		asked := map[string]bool{}
		for _, p := range regexp.MustCompile(`\bbelfry_[a-z_]+`).FindAllString(read(t, file), -1) {
			if known[p] == "" {
				t.Errorf("%s: there is no %s", file, p)
			}
			asked[known[p]] = true
		}
		for name := range r.gauges {
			if !asked[name] && (name != "belfry.due.rows" || !strings.HasSuffix(file, ".yml")) { // a backlog is no alarm while it moves
				t.Errorf("%s does not ask for %s", file, name)
			}
		}
	}
	if !json.Valid([]byte(read(t, "deploy/monitoring/dashboard.json"))) {
		t.Error("the dashboard is not JSON")
	}
}

// Every alert is explained, and every one that is explained exists.
func TestEveryAlertIsExplained(t *testing.T) {
	t.Parallel()
	find := func(text, pattern string) (out []string) {
		for _, m := range regexp.MustCompile(pattern).FindAllStringSubmatch(text, -1) {
			out = append(out, m[1])
		}
		slices.Sort(out)
		return out
	}
	rules := find(read(t, "deploy/monitoring/alerts.yml"), `- alert: (\w+)`)
	if diff := cmp.Diff(rules, find(read(t, "docs/monitoring.md"), "`(Belfry\\w+)`")); diff != "" || len(rules) == 0 {
		t.Errorf("(-rules +docs):\n%s", diff)
	}
}
