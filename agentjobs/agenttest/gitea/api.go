package gitea

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
)

// maxAnswer bounds what is read of one answer, in bytes.
const maxAnswer = 16 << 20

// CreateUser makes a user without any rights but its own.
func (s *Server) CreateUser(name string) {
	s.t.Helper()
	password := rand.Text()
	s.output.hide(password)
	s.passwords[name] = password
	s.call(http.MethodPost, "/admin/users", map[string]any{
		"username": name, "password": password, "email": name + "@localhost.invalid", "must_change_password": false,
	}, nil)
}

// Token makes a token of a user that CreateUser made. Scopes are Gitea's, such as
// "write:repository" (https://docs.gitea.com/development/oauth2-provider#scopes).
func (s *Server) Token(user string, scopes ...string) string {
	s.t.Helper()
	password, ok := s.passwords[user]
	if !ok {
		s.t.Fatalf("gitea: no user %q was created here", user)
	}
	request := s.request(http.MethodPost, "/users/"+url.PathEscape(user)+"/tokens",
		map[string]any{"name": rand.Text(), "scopes": scopes})
	// Gitea gives tokens for a password alone, also to an administrator.
	request.SetBasicAuth(user, password)
	var token struct {
		Text string `json:"sha1"`
	}
	s.do(request, &token)
	s.output.hide(token.Text)
	return token.Text
}

// call is one call of the API as the administrator.
func (s *Server) call(method, path string, body, answer any) {
	s.t.Helper()
	request := s.request(method, path, body)
	request.Header.Set("Authorization", "token "+s.admin)
	s.do(request, answer)
}

func (s *Server) request(method, path string, body any) *http.Request {
	s.t.Helper()
	var data []byte
	if body != nil {
		var err error
		if data, err = json.Marshal(body); err != nil {
			s.t.Fatalf("gitea: %s %s: %v", method, path, err)
		}
	}
	request, err := http.NewRequestWithContext(s.t.Context(), method, s.URL+"/api/v1"+path, bytes.NewReader(data))
	if err != nil {
		s.t.Fatalf("gitea: %v", err)
	}
	request.Header.Set("Content-Type", "application/json")
	return request
}

// do ends the test unless the answer is one of success.
func (s *Server) do(request *http.Request, answer any) {
	s.t.Helper()
	if status, data := s.send(request); status >= http.StatusMultipleChoices {
		s.t.Fatalf("gitea: %s %s: %d %s", request.Method, request.URL.Path, status, data)
	} else if answer != nil {
		if err := json.Unmarshal(data, answer); err != nil {
			s.t.Fatalf("gitea: %s %s: %v", request.Method, request.URL.Path, err)
		}
	}
}

func (s *Server) send(request *http.Request) (status int, data []byte) {
	s.t.Helper()
	response, err := s.client.Do(request)
	if err != nil {
		s.t.Fatalf("gitea: %v", err)
	}
	data, err = io.ReadAll(io.LimitReader(response.Body, maxAnswer))
	if closeErr := response.Body.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		s.t.Fatalf("gitea: %s: %v", fmt.Sprint(request.Method, " ", request.URL.Path), err)
	}
	return response.StatusCode, data
}
