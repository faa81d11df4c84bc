package service

import (
	"context"
	"fmt"
	"os/exec"
	"strings"
)

// Version returns what a footfall binary says of its version, in one line.
func Version(ctx context.Context, binary string) (string, error) {
	out, err := exec.CommandContext(ctx, binary, "version").Output()
	if err != nil {
		return "", fmt.Errorf("asking %s for its version: %w", binary, err)
	}
	return strings.Join(strings.Fields(string(out)), " "), nil
}
