// Package api is what every HTTP endpoint shares: the router, the check of the
// API key, and the one place that writes answers and errors.
//
// An endpoint is a Handler: it gets the project that the key covers and returns
// an error instead of writing one. The checks come in one order everywhere: 401
// for the key, 403 for what it does not cover, 404 for a project that does not
// exist, and only then what the endpoint itself finds wrong.
package api
