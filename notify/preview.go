package notify

import (
	"context"
	"fmt"

	"github.com/belfry-go/belfry/internal/work"
)

// Preview renders a message as the generator would, and stores nothing: for the
// host's own "show me" button, and for tests of templates. The attachments are in
// the content by name and blob; one that the renderer made for this is removed
// after a day. The type has to be registered here. A content that no message may have is an [ErrContent].
func (n *Notifier) Preview(ctx context.Context, j Job, r Recipient) (c Content, err error) {
	renderer := n.registry.lookup(j.Type).Renderer
	if renderer == nil {
		return c, fmt.Errorf("notify: type %q has no renderer here", j.Type)
	}
	err = work.Guard(func() (err error) {
		c, err = renderer.Render(ctx, j, r)
		return err
	})
	if err != nil {
		return Content{}, err
	}
	return c, c.check()
}
