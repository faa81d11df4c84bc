package api

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/netip"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/julienschmidt/httprouter"

	"footfall/internal/access"
	"footfall/internal/forwarded"
)

// Handler answers a request on a project that the request's key covers.
type Handler func(w http.ResponseWriter, r *http.Request, project access.Project) error

// Router finds the handler of a request. It neither redirects paths nor answers
// OPTIONS by itself: a client that misspells a path is told so.
type Router struct {
	routes   *httprouter.Router
	registry *access.Registry
	trusted  forwarded.Trusted
	logger   *slog.Logger
}

// NewRouter returns a router without routes. A client's address, which a key may
// be bound to, is taken from X-Forwarded-For where trusted proxies wrote it.
func NewRouter(registry *access.Registry, trusted forwarded.Trusted, logger *slog.Logger) *Router {
	routes := httprouter.New()
	routes.RedirectTrailingSlash = false
	routes.RedirectFixedPath = false
	routes.HandleOPTIONS = false
	routes.HandleMethodNotAllowed = true
	router := &Router{routes: routes, registry: registry, trusted: trusted, logger: logger}
	routes.NotFound = router.answer(func(http.ResponseWriter, *http.Request) error {
		return &Error{Status: http.StatusNotFound, Message: "there is no such route"}
	})
	routes.MethodNotAllowed = router.answer(func(w http.ResponseWriter, r *http.Request) error {
		// httprouter lists OPTIONS whether or not it is answered.
		methods := strings.Split(w.Header().Get("Allow"), ", ")
		methods = slices.DeleteFunc(methods, func(method string) bool { return method == http.MethodOptions })
		allowed := strings.Join(methods, ", ")
		w.Header().Set("Allow", allowed)
		return &Error{
			Status:  http.StatusMethodNotAllowed,
			Message: fmt.Sprintf("%s is not allowed here; allowed: %s", r.Method, allowed),
		}
	})
	routes.PanicHandler = func(w http.ResponseWriter, r *http.Request, cause any) {
		if err, ok := cause.(error); ok && errors.Is(err, http.ErrAbortHandler) {
			panic(cause)
		}
		err := fmt.Errorf("panic: %v\n%s", cause, debug.Stack())
		// It is logged also where the client has gone: a mistake stays one.
		WriteError(w, r.WithContext(context.WithoutCancel(r.Context())), logger, err)
	}
	return router
}

// ServeHTTP answers a request.
func (router *Router) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if strings.Contains(strings.ToUpper(r.URL.RawPath), "%2F") {
		// httprouter sees the decoded path, in which an escaped slash would end a
		// segment.
		router.routes.NotFound.ServeHTTP(w, r)
		return
	}
	router.routes.ServeHTTP(w, r)
}

// Public routes requests that need no key.
func (router *Router) Public(method, path string, handler http.HandlerFunc) {
	router.routes.Handler(method, path, handler)
}

// Project routes requests on a project, whose path holds :projectId, to a
// handler. The request's key must have one of the scopes, or admin. What else the
// path names with a colon is in the request's PathValue.
func (router *Router) Project(method, path string, handler Handler, scopes ...access.Scope) {
	router.routes.Handle(method, path, func(w http.ResponseWriter, r *http.Request, params httprouter.Params) {
		project, key, err := router.authorize(r, params.ByName("projectId"), scopes)
		if err == nil {
			for _, param := range params {
				r.SetPathValue(param.Key, param.Value)
			}
			err = handler(w, r.WithContext(context.WithValue(r.Context(), keyID{}, key.ID)), project)
		}
		if err != nil {
			WriteError(w, r, router.logger, err)
		}
	})
}

// keyID is the key of a request's context under which the ID of its API key is.
type keyID struct{}

// KeyID returns the ID of the API key with which a handler's request was
// authorized. It is empty for a request that came by no Router.
func KeyID(r *http.Request) string {
	id, _ := r.Context().Value(keyID{}).(string)
	return id
}

func (router *Router) authorize(r *http.Request, id string, scopes []access.Scope) (access.Project, access.Key, error) {
	key, err := router.registry.Authenticate(r.Header.Values("Authorization"))
	if err != nil {
		return access.Project{}, access.Key{}, err
	}
	project, err := router.registry.Authorize(key, router.clientAddress(r), id, scopes...)
	return project, key, err
}

func (router *Router) answer(handler func(http.ResponseWriter, *http.Request) error) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		WriteError(w, r, router.logger, handler(w, r))
	})
}

// clientAddress is the address of the client. It is the zero address, which no
// range contains, where the connection comes from no IP address.
func (router *Router) clientAddress(r *http.Request) netip.Addr {
	address, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil {
		return netip.Addr{}
	}
	var lists [][]byte
	for _, list := range r.Header.Values("X-Forwarded-For") {
		lists = append(lists, []byte(list))
	}
	return router.trusted.Client(address.Addr(), lists...)
}
