package notify

import "context"

// Renderer makes the parts of a message of a job for one recipient. It is
// called from several goroutines, and again whenever a try has failed; only
// the first result that is stored counts. It changes nothing.
type Renderer interface {
	Render(ctx context.Context, j Job, r Recipient) (Content, error)
}

// RendererFunc is a Renderer made of a function.
type RendererFunc func(ctx context.Context, j Job, r Recipient) (Content, error)

// Render calls f.
func (f RendererFunc) Render(ctx context.Context, j Job, r Recipient) (Content, error) {
	return f(ctx, j, r)
}
