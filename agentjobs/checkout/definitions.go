package checkout

import (
	"path"
	"strings"
)

// isDefinition reports whether a path belongs to the definition of what a forge, a
// build service or a host of documentation runs when a branch is pushed: such a run has
// the repository's secrets.
//
// Names count in any case and at any depth: most are read at the top only, but
// services let a project say where theirs lie. Wrongly refusing an example in some
// page's folder costs one job; wrongly passing costs the secrets.
func isDefinition(name string) bool {
	for element := range strings.SplitSeq(name, "/") {
		element = foldName(element)
		for _, pattern := range definitions {
			// The patterns are constants, and a test reads each of them.
			if matched, _ := path.Match(pattern, element); matched {
				return true
			}
		}
	}
	return false
}

// definitions are the names of directories and files, as patterns of path.Match. A
// pattern for a file says how it ends, so that a page named travis.md is not one.
var definitions = [...]string{
	// Forges.
	".github", ".gitlab", ".gitea", ".forgejo", ".gitee", ".azuredevops",
	".gitlab-ci*", "*.gitlab-ci.y*ml", ".azure-pipelines*", "azure-pipelines*", "bitbucket-pipelines*",
	".builds", ".build.y*ml",

	// Services that build.
	".circleci", "circle.y*ml", ".buildkite", "buildkite.y*ml", ".semaphore", ".teamcity", ".travis.*",
	".drone", ".drone.*", ".woodpecker", ".woodpecker.*", ".appveyor*", "appveyor*.y*ml", ".cirrus.*",
	"jenkinsfile*", "*.jenkinsfile", ".jenkins", "cloudbuild*.y*ml", "cloudbuild*.json", "buildspec*.y*ml",
	"codemagic.y*ml", "bitrise.y*ml", "wercker.y*ml", "screwdriver.y*ml", "codeship-*.y*ml",
	".zuul.*", "zuul.y*ml", "zuul.d", ".buddy", "buddy.y*ml", ".harness", ".tekton", ".concourse", ".prow*",

	// Services that change branches by themselves, or prepare a reviewer's machine.
	"renovate.json*", ".renovaterc*", ".pre-commit-config.y*ml", ".devcontainer", ".devcontainer.json", ".gitpod.*",

	// Hosts of documentation: these name the command that builds the pages.
	"netlify.toml", "vercel.json", ".readthedocs.*", "readthedocs.y*ml", "amplify.y*ml", "render.y*ml", "wrangler.toml", "wrangler.json*", "firebase.json",
}
