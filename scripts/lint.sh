#!/bin/sh
# Runs every check and fails if one failed, so that one run shows everything. The argument: where the programs are.
bin=${1:-.venv/bin}
failed=""

check() {
  name=$1
  shift
  printf '%s\n' "-- $name"
  "$@" || failed="$failed $name"
}

check style "$bin/ruff" check --quiet .
check format "$bin/ruff" format --check --quiet .
check types "$bin/mypy" --no-error-summary apps manage.py
check imports "$bin/lint-imports" --no-logo
check templates "$bin/djlint" --check --lint templates

if [ -n "$failed" ]; then
  echo "lint failed:$failed" >&2
  exit 1
fi
echo "lint: all clean"
