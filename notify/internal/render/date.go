package render

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"
)

type localeKey struct{}

// In is a context in which templates write dates as people of a locale do, which is a BCP 47
// tag.
func In(ctx context.Context, locale string) context.Context {
	return context.WithValue(ctx, localeKey{}, locale)
}

// dates is how a language writes a date: {d}, {m} and {y} in full, and as a Go layout in short.
type dates struct{ long, short, months string }

// languages are those that are known. Others see a date as it was given.
var languages = map[string]dates{
	"en":    {"{d} {m} {y}", "02/01/2006", "January February March April May June July August September October November December"},
	"en-US": {"{m} {d}, {y}", "01/02/2006", "January February March April May June July August September October November December"},
	"de":    {"{d}. {m} {y}", "02.01.2006", "Januar Februar März April Mai Juni Juli August September Oktober November Dezember"},
	"fr":    {"{d} {m} {y}", "02/01/2006", "janvier février mars avril mai juin juillet août septembre octobre novembre décembre"},
	"es":    {"{d} de {m} de {y}", "02/01/2006", "enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre"},
	"it":    {"{d} {m} {y}", "02/01/2006", "gennaio febbraio marzo aprile maggio giugno luglio agosto settembre ottobre novembre dicembre"},
	"pt":    {"{d} de {m} de {y}", "02/01/2006", "janeiro fevereiro março abril maio junho julho agosto setembro outubro novembro dezembro"},
	"nl":    {"{d} {m} {y}", "02-01-2006", "januari februari maart april mei juni juli augustus september oktober november december"},
	"pl":    {"{d} {m} {y}", "02.01.2006", "stycznia lutego marca kwietnia maja czerwca lipca sierpnia września października listopada grudnia"},
	"cs":    {"{d}. {m} {y}", "02.01.2006", "ledna února března dubna května června července srpna září října listopadu prosince"},
	"da":    {"{d}. {m} {y}", "02.01.2006", "januar februar marts april maj juni juli august september oktober november december"},
	"nb":    {"{d}. {m} {y}", "02.01.2006", "januar februar mars april mai juni juli august september oktober november desember"},
	"sv":    {"{d} {m} {y}", "2006-01-02", "januari februari mars april maj juni juli augusti september oktober november december"},
	"fi":    {"{d}. {m} {y}", "02.01.2006", "tammikuuta helmikuuta maaliskuuta huhtikuuta toukokuuta kesäkuuta heinäkuuta elokuuta syyskuuta lokakuuta marraskuuta joulukuuta"},
	"tr":    {"{d} {m} {y}", "02.01.2006", "Ocak Şubat Mart Nisan Mayıs Haziran Temmuz Ağustos Eylül Ekim Kasım Aralık"},
	"vi":    {"{d} tháng {m}, {y}", "02/01/2006", "1 2 3 4 5 6 7 8 9 10 11 12"},
	"ja":    {"{y}年{m}月{d}日", "2006/01/02", "1 2 3 4 5 6 7 8 9 10 11 12"},
	"zh":    {"{y}年{m}月{d}日", "2006/01/02", "1 2 3 4 5 6 7 8 9 10 11 12"},
	"ko":    {"{y}년 {m}월 {d}일", "2006.01.02", "1 2 3 4 5 6 7 8 9 10 11 12"},
}

// languageOf is how a locale writes dates: by its tag, else by its language. English without
// one.
func languageOf(locale string) (dates, bool) {
	if locale == "" {
		locale = "en"
	}
	if d, ok := languages[locale]; ok {
		return d, true
	}
	language, _, _ := strings.Cut(locale, "-")
	if language = strings.ToLower(language); language == "no" || language == "nn" {
		language = "nb"
	}
	d, ok := languages[language]
	return d, ok
}

// date writes the civil date that it is given last, such as 2026-05-01, in a style, long or
// short, by the locale of the message or one that stands between. Nothing stays nothing.
func (m *meter) date(style string, args ...any) (string, error) {
	if len(args) == 0 || len(args) > 2 {
		return "", fmt.Errorf("date takes a style, perhaps a locale, and a date")
	}
	text := fmt.Sprint(args[len(args)-1])
	locale, _ := m.ctx.Value(localeKey{}).(string)
	if len(args) == 2 {
		locale = fmt.Sprint(args[0])
	}
	if style != "long" && style != "short" {
		return "", fmt.Errorf("date %.40q: the style is long or short", style)
	}
	if err := m.make(len(text)); err != nil || text == "" {
		return "", err
	}
	day, err := time.Parse(time.DateOnly, text)
	if err != nil {
		return "", fmt.Errorf("date: %.40q is not a date such as 2026-05-01", text)
	}
	d, known := languageOf(locale)
	switch {
	case !known:
		return text, nil
	case style == "short":
		return day.Format(d.short), nil
	}
	return strings.NewReplacer("{d}", strconv.Itoa(day.Day()), "{m}", strings.Fields(d.months)[day.Month()-1], "{y}", strconv.Itoa(day.Year())).Replace(d.long), nil
}
