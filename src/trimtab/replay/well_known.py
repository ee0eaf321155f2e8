"""Names that any model knows without having read them: no message has to hold them.

A short list on purpose: what stands here is never counted as missed, so only
what is the same in every project belongs here.
"""

from __future__ import annotations

__all__ = ["FILES", "NAMES"]

_FILES = """
.editorconfig .env .env.example .eslintrc .eslintrc.json .gitattributes .gitignore .npmrc
.prettierrc AGENTS.md CHANGELOG.md CLAUDE.md CODEOWNERS CONTRIBUTING.md Cargo.lock Cargo.toml
Dockerfile GEMINI.md Gemfile Gemfile.lock LICENSE LICENSE.md Makefile Pipfile README README.md
README.rst SECURITY.md __init__.py build.gradle bun.lockb compose.yaml compose.yml conftest.py
docker-compose.yaml docker-compose.yml go.mod go.sum index.css index.html index.js index.ts
index.tsx main.go main.py main.rs mix.exs mix.lock mypy.ini package-lock.json package.json
pnpm-lock.yaml pom.xml poetry.lock pyproject.toml pytest.ini requirements.txt setup.cfg
setup.py tox.ini tsconfig.json uv.lock vite.config.ts yarn.lock
"""
FILES = frozenset(_FILES.split())
"""Names of files that stand in the root of many projects."""

_NAMES = """
EqualFold HasPrefix HasSuffix MarshalIndent MustCompile NewReader NewRequest ReadFile ReplaceAll
ReplaceAllString Sprintf TrimPrefix TrimRight TrimSpace TrimSuffix WriteFile WriteString
addEventListener appendChild classList clearInterval clearTimeout createElement
dangerouslySetInnerHTML getElementById innerHTML innerText localStorage parseFloat
preventDefault querySelector querySelectorAll removeChild removeEventListener replaceAll
sessionStorage setInterval setTimeout startsWith stopPropagation textContent toLocaleString
toLowerCase toString toUpperCase useCallback useContext useEffect useMemo useReducer useRef
useState
__file__ __main__ __name__ __tests__ cached_property default_factory
is_absolute is_relative_to model_dump model_validate node_modules
parse_args read_bytes read_text setUp setUpClass site_packages tearDown write_bytes write_text
drop_if_exists in_progress not_found tool_calls tool_result tool_use
"""
NAMES = frozenset(_NAMES.split())
"""Names of standard libraries and of the tools of coding agents."""
