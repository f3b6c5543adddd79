package postmark

import (
	"context"
	"encoding/json"
	"net/http"

	"github.com/belfry-go/belfry/notify/channel"
	"github.com/belfry-go/belfry/notify/channel/internal/rest"
)

// maxBatch is how many mails Postmark takes by one request.
const maxBatch = 500

// MaxBatch is Options.Batch.
func (c *Channel) MaxBatch() int { return c.batch }

// SendBatch hands all mails to Postmark by one request. What Send says of a mail holds
// for each. A mail that cannot be made is left out.
func (c *Channel) SendBatch(ctx context.Context, messages []channel.Message) ([]channel.BatchResult, error) {
	results := make([]channel.BatchResult, len(messages))
	var mails []*email
	var of []int // the message of each mail
	for i, m := range messages {
		mail, err := c.build(m)
		if err != nil {
			results[i].Err = err
			continue
		}
		mails, of = append(mails, mail), append(of, i)
	}
	if len(mails) == 0 {
		return results, nil
	}
	answer, err := c.post(ctx, "/email/batch", mails)
	if err != nil {
		return nil, err
	}
	all, err := answers(answer, len(mails))
	if err != nil {
		return nil, err
	}
	for i, one := range all {
		r := &results[of[i]]
		r.Receipt, r.Err = one.result(answer)
	}
	return results, nil
}

// answers are one for each mail, or an error about all of them.
func answers(a *rest.Answer, mails int) (all []sent, err error) {
	if a.Status != http.StatusOK {
		var whole sent
		_ = a.JSON(&whole) // without a code the status decides
		_, err := whole.result(a)
		return nil, err
	}
	if err := a.JSON(&all); err != nil || len(all) != mails {
		return nil, a.Unknown("no-answers")
	}
	return all, nil
}

// post makes one request.
func (c *Channel) post(ctx context.Context, path string, content any) (*rest.Answer, error) {
	body, err := json.Marshal(content)
	if err != nil { // texts and bytes only
		return nil, channel.Permanent("mail", err)
	}
	return c.client.Do(ctx, rest.Call{URL: c.url + path, ContentType: "application/json", Body: body})
}
