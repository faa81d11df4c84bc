package checkout

import (
	"context"
	"errors"
	"fmt"
	"strings"
)

// Push moves the remote's branch on to the last commit, or creates it there. It never
// forces.
//
// Errors: ErrName, ErrRejected with the remote's reason, ErrUnauthorized, ErrNotFound,
// ErrRedirected, ErrUnreachable, ErrTimeout.
func (c *Checkout) Push(ctx context.Context, branch string) error {
	if err := CheckBranch(branch); err != nil {
		return fmt.Errorf("push: %w", err)
	}
	report, text, err := c.runText(ctx, command{
		args: []string{"push", "--porcelain", "--no-verify", "--no-follow-tags", "--recurse-submodules=no",
			"--", c.options.Remote, "HEAD:refs/heads/" + branch},
		onRemote: true,
	})
	if err == nil {
		return nil
	}
	var failed *commandError
	if errors.As(err, &failed) {
		if summary, rejected := rejection(string(report)); rejected {
			return fmt.Errorf("push %s: %w: %s", branch, ErrRejected, reason(summary+" "+remarks(text)))
		}
	}
	why := c.explain(ctx, writing, err)
	if errors.As(why, &failed) {
		// The remote welcomes a push, and refused no ref: the exchange broke off.
		why = fmt.Errorf("%s: %w: %w", c.options.Remote, ErrUnreachable, why)
	}
	return fmt.Errorf("push %s: %w", branch, why)
}

// rejection finds the line of a refused ref in the report of push --porcelain: a flag,
// the refs and a summary, separated by tabs (git-push(1), Output). The flag of a ref that
// the remote said nothing of is the same: there the connection broke.
func rejection(report string) (summary string, rejected bool) {
	for line := range strings.Lines(report) {
		fields := strings.SplitN(strings.TrimSpace(line), "\t", 3)
		if len(fields) == 3 && fields[0] == "!" && !strings.HasPrefix(fields[2], "[remote failure]") {
			return strings.ToValidUTF8(fields[2], "\uFFFD"), true
		}
	}
	return "", false
}

// remarks are the lines of a text that come from the remote.
func remarks(text string) string {
	var kept []string
	for line := range strings.Lines(text) {
		if remark, ok := strings.CutPrefix(line, "remote:"); ok {
			kept = append(kept, remark)
		}
	}
	return strings.Join(kept, " ")
}

// Check says whether a job could run: the remote can be read, has the base, and lets
// the token push. It writes nothing on the remote.
//
// Errors: as of Prepare.
func (c *Checkout) Check(ctx context.Context, base string) error {
	if err := c.check(ctx, base); err != nil {
		return fmt.Errorf("check: %w", err)
	}
	return nil
}

func (c *Checkout) check(ctx context.Context, base string) error {
	if err := CheckBranch(base); err != nil {
		return err
	}
	if err := c.initialise(ctx); err != nil {
		return err
	}
	tips, err := c.tips(ctx, base)
	if err != nil {
		return err
	}
	if !tips[base] {
		return fmt.Errorf("%s: branch %q: %w", c.options.Remote, base, ErrNotFound)
	}
	return c.ask(ctx, writing)
}
