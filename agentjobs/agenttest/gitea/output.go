package gitea

import (
	"bytes"
	"strings"
	"sync"
)

// output keeps the last of what a process wrote, logLimit bytes and up to twice
// that.
type output struct {
	mutex   sync.Mutex
	data    []byte
	secrets []string
}

func (o *output) Write(data []byte) (int, error) {
	o.mutex.Lock()
	defer o.mutex.Unlock()
	o.data = append(o.data, data...)
	// Cut at twice the size, so that not every line moves all that is kept.
	if len(o.data) > 2*logLimit {
		kept := o.data[len(o.data)-logLimit:]
		// From a whole line on: the rest of a secret that was cut would not be hidden.
		o.data = bytes.Clone(kept[bytes.IndexByte(kept, '\n')+1:])
	}
	return len(data), nil
}

// hide keeps a secret out of String.
func (o *output) hide(secret string) {
	o.mutex.Lock()
	defer o.mutex.Unlock()
	o.secrets = append(o.secrets, secret, "***")
}

func (o *output) String() string {
	o.mutex.Lock()
	defer o.mutex.Unlock()
	return strings.NewReplacer(o.secrets...).Replace(string(o.data))
}
