package browsertest_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/benbjohnson/clock"
	"github.com/chromedp/chromedp"

	"github.com/belfry-go/belfry"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/notify/channel"
	"github.com/belfry-go/belfry/storage/memory"
	"github.com/belfry-go/belfry/survey"
	"github.com/belfry-go/belfry/survey/surveyhttp"
)

// board is a survey whose results have a picture of each kind, in three languages.
const board = `{"title": {"en": "Your visit to the workshop", "de": "Ihr Besuch in der Werkstatt", "ar": "زيارتك للورشة"}, "dimensions": ["candidate.city"],
	"questions": [
		{"id": "csat", "type": "rating", "metric": "csat", "label": {"en": "How satisfied are you with the repair?", "de": "Wie zufrieden sind Sie mit der Reparatur?", "ar": "ما مدى رضاك عن الإصلاح؟"},
			"low": {"en": "Not at all", "de": "Gar nicht", "ar": "غير راضٍ"}, "high": {"en": "Very", "de": "Sehr", "ar": "راضٍ جدًا"}},
		{"id": "nps", "type": "nps", "label": {"en": "Would you recommend us?", "de": "Würden Sie uns weiterempfehlen?", "ar": "هل توصي بنا؟"}},
		{"id": "by", "type": "choice", "label": {"en": "How did you come?", "de": "Wie sind Sie gekommen?", "ar": "كيف جئت؟"}, "options": [
			{"value": "car", "label": {"en": "By car", "de": "Mit dem Auto", "ar": "بالسيارة"}}, {"value": "bus", "label": {"en": "By bus", "de": "Mit dem Bus", "ar": "بالحافلة"}},
			{"value": "foot", "label": {"en": "On foot", "de": "Zu Fuß", "ar": "مشيًا"}}]},
		{"id": "why", "type": "longText", "label": {"en": "What should we do better?", "de": "Was sollen wir besser machen?", "ar": "ماذا نحسّن؟"}}
	],
	"triggers": [{"id": "t", "enabled": true, "eventKind": "visit", "dedupRecipe": ["templateId", "recipient.address", "candidate.wip"], "schedule": {"initialDelay": "0d"}, "channel": "memory:default"}]}`

// results serves the results of half a year of visits, of which four in ten are answered.
func results(t *testing.T) string {
	t.Helper()
	mock := clock.NewMock()
	mock.Set(time.Date(2026, 1, 5, 9, 0, 0, 0, time.UTC))
	store := memory.New(&memory.Options{Clock: mock})
	out := notify.New(store, nil, channel.Func("memory:default", func(context.Context, channel.Message) (channel.Receipt, error) { return channel.Receipt{}, nil }))
	s := survey.New(store, out, &survey.Options{SurveyURL: "https://host.example/s/{token}"})
	poller := belfry.NewPoller(store, nil, s, out)
	if _, err := s.Publish(t.Context(), survey.Version{SurveyID: 1, Name: "n", IntegrationID: "i", Definition: json.RawMessage(board)}); err != nil {
		t.Fatal(err)
	}
	for n := range 360 {
		report, err := s.Ingest(t.Context(), survey.Batch{EventKind: "visit", Items: []survey.Item{{
			Payload:   json.RawMessage(fmt.Sprintf(`{"wip": %d, "city": %q}`, n, []string{"Erbil", "Köln", strings.Repeat("Longfordshire", 4)}[n%3])),
			Recipient: survey.Recipient{Address: "+353 20 910 0001"},
		}}})
		if err == nil && n%10 == 0 {
			err = poller.Drain(t.Context())
		}
		if err != nil {
			t.Fatal(err)
		}
		mock.Add(12 * time.Hour)
		id := report.Items[0].Instances[0].PublicID
		link, err := s.Link(t.Context(), "", id)
		if err == nil && n%5 < 3 {
			err = s.Opened(t.Context(), link[strings.LastIndex(link, "/")+1:])
		}
		if err == nil && n%5 < 2 {
			answers, _ := json.Marshal(map[string]any{"csat": min(5, 1+(n*7+n/60)%6), "nps": min(10, 3+(n*5+n/40)%9), "by": []string{"car", "car", "bus"}[n%3], "why": "كان الانتظار طويلا. It took " + fmt.Sprint(n) + " minutes, und niemand hat etwas gesagt."})
			_, err = s.Complete(t.Context(), "", id, survey.Response{Answers: answers})
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := poller.Drain(t.Context()); err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(surveyhttp.Results(s, func(*http.Request) (surveyhttp.Caller, error) {
		return surveyhttp.Caller{Results: true, Responses: true}, nil
	}, nil))
	t.Cleanup(server.Close)
	return server.URL
}

// The page of results fits a phone, a tablet and a desk in each language, is read by everybody, and has
// nothing that its policy forbids.
func TestResultsAreReadByEverybody(t *testing.T) {
	t.Parallel()
	url := results(t)
	for _, width := range []int64{360, 768, 1280} {
		for locale, query := range map[string]string{
			"en": "by=candidate.city&step=week", "de": "since=2026-04-01&until=2026-06-30&compare=before&by=candidate.city", "ar": "step=month&compare=year&since=2026-01-01&until=2026-12-31",
		} {
			t.Run(fmt.Sprint(width, " ", locale), func(t *testing.T) {
				t.Parallel()
				ctx := browse(t, window{width, 900, false})
				page := fmt.Sprintf("results-%s-%d", locale, width)
				do(ctx, t, chromedp.Navigate(url+"/1?locale="+locale+"&"+query))
				fitsDesk(ctx, t, page, width)
				picture(ctx, t, page)
				accessible(ctx, t, page, false)
				for of, want := range map[string]int{".bars rect": 3 + 3, ".stack rect": 5 + 11, ".chart polyline": 1} {
					if n := eval[int](ctx, t, fmt.Sprintf(`document.querySelectorAll(%q).length`, of)); n != want {
						t.Errorf("%s: %d, want %d", of, n, want)
					}
				}
				if color := eval[string](ctx, t, `getComputedStyle(document.querySelector(".bars rect")).fill`); color != "rgb(42, 91, 184)" {
					t.Errorf("the style sheet is not in use: %s", color)
				}
				do(ctx, t, chromedp.Navigate(url+"/1/comments?locale="+locale))
				fitsDesk(ctx, t, page+"-comments", width)
				picture(ctx, t, page+"-comments")
				accessible(ctx, t, page+"-comments", false)
			})
		}
	}
}
