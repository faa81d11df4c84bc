package service

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"

	"footfall/bench/client"
	"footfall/bench/exports"
	"footfall/query"
	"footfall/sketch"
)

// Export renders a request for the first page of an export, of some rows.
func (s *Server) Export(within sketch.Range, limit int) ([]byte, error) {
	target := fmt.Sprintf("/v1/analytics/%s/visitors?dateFrom=%v&dateTo=%v&limit=%d", project, within.From, within.To, limit)
	return client.Render(http.MethodGet, s.address, target, []client.Header{{Name: "Authorization", Value: "Bearer " + s.key}}, nil)
}

// ExportConn is a connection that asks for exports, one after the other. It is not
// safe for concurrent use.
type ExportConn struct {
	server *Server
	conn   *client.Conn
}

// DialExports connects to the server. The connection is closed when ctx ends.
func (s *Server) DialExports(ctx context.Context) (*ExportConn, error) {
	conn, err := client.Dial(ctx, s.address)
	if err != nil {
		return nil, err
	}
	return &ExportConn{server: s, conn: conn}, nil
}

// Prepare renders a request for the first page of an export, of exports.Top rows.
func (c *ExportConn) Prepare(within sketch.Range) (exports.Ask, error) {
	request, err := c.server.Export(within, exports.Top)
	return func(context.Context) (query.Page, error) {
		page, err := c.ask(request)
		if err != nil {
			return page, fmt.Errorf("exporting %v: %w", within, err)
		}
		return page, nil
	}, err
}

func (c *ExportConn) ask(request []byte) (page query.Page, err error) {
	response, err := c.conn.Do(request)
	if err != nil {
		return page, err
	}
	if response.Status != http.StatusOK {
		return page, fmt.Errorf("status %d: %s", response.Status, response.Body)
	}
	return page, json.Unmarshal(response.Body, &page)
}

// Close closes the connection.
func (c *ExportConn) Close() error { return c.conn.Close() }
