package service

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"

	"footfall/query"
	"footfall/sketch"
)

// Visitors asks for the first page of an export.
func (s *Server) Visitors(ctx context.Context, within sketch.Range) (query.Page, error) {
	var page query.Page
	url := fmt.Sprintf("http://%s/v1/analytics/%s/visitors?dateFrom=%v&dateTo=%v", s.address, project, within.From, within.To)
	err := s.get(ctx, url, func(body io.Reader) error { return json.NewDecoder(body).Decode(&page) })
	if err != nil {
		return page, fmt.Errorf("exporting %v: %w", within, err)
	}
	return page, nil
}

// Metrics returns what the server says of itself: the values by the names of
// their series, labels included, as /metrics writes them.
func (s *Server) Metrics(ctx context.Context) (map[string]float64, error) {
	values := make(map[string]float64)
	err := s.get(ctx, s.metrics, func(body io.Reader) error {
		lines := bufio.NewScanner(body)
		for lines.Scan() {
			if strings.HasPrefix(lines.Text(), "#") {
				continue
			}
			// Label values may hold spaces; values and our series have no timestamps.
			space := strings.LastIndexByte(lines.Text(), ' ')
			if space < 0 {
				return fmt.Errorf("line %q", lines.Text())
			}
			value, err := strconv.ParseFloat(lines.Text()[space+1:], 64)
			if err != nil {
				return err
			}
			values[lines.Text()[:space]] = value
		}
		return lines.Err()
	})
	if err != nil {
		return nil, fmt.Errorf("reading metrics: %w", err)
	}
	return values, nil
}

// get asks for a URL and has the body of a 200 read.
func (s *Server) get(ctx context.Context, url string, read func(io.Reader) error) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	request.Header.Set("Authorization", "Bearer "+s.key)
	response, err := s.client.Do(request)
	if err != nil {
		return err
	}
	if response.StatusCode == http.StatusOK {
		err = read(response.Body)
	} else {
		text, _ := io.ReadAll(io.LimitReader(response.Body, 4<<10)) // What is missing of it makes no difference.
		err = fmt.Errorf("status %d: %s", response.StatusCode, text)
	}
	return errors.Join(err, response.Body.Close())
}
