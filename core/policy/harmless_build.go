package policy

// What several sub-commands share. Left out are the options that name a program
// (-exec, -toolexec, --config, --script-shell, -p of pytest), code to load, or a file
// to write (-o, -coverprofile, --junitxml).
const (
	goBuild = " -a -n -v -x -race -msan -asan -cover -covermode= -coverpkg= -p= -tags= -trimpath -work -buildvcs= -json -mod=vendor -mod=readonly"
	cargo   = " -[qvr] -p=* -j= --package=* --workspace --all --exclude=* --all-targets --all-features --features=* --no-default-features -F=* --release --lib --bins " +
		"--bin=* --tests --test=* --examples --example=* --benches --bench=* --quiet --verbose --locked --offline --frozen --jobs= --message-format=* --keep-going --color=*"
	pytest = "-[vqxsl] -k=* -m=* -r=* -n= --verbose --quiet --exitfirst --maxfail= --lf --last-failed --ff --failed-first --nf --new-first --sw --stepwise --tb=* " +
		"--showlocals --durations= --co --collect-only --no-header --no-summary --strict-markers --color=* --capture=* --disable-warnings --setup-show --fixtures --markers"
)

// buildUsages lists programs that build, test and check the workspace, and so run code
// in it. An answer covers that code, and nothing that the line itself adds.
var buildUsages = []usage{
	{
		words:    "go test",
		separate: true,
		rest:     paths,
		options:  goBuild + " -short -failfast -fullpath -run=* -skip=* -bench=* -benchtime= -benchmem -count= -timeout= -parallel= -cpu= -shuffle= -vet=off -list=* -fuzz=* -fuzztime= -fuzzminimizetime=",
	},
	{words: "go build", separate: true, rest: paths, options: goBuild},
	{words: "go vet", separate: true, rest: paths, options: goBuild + " -c=*"},
	{words: "go fmt", separate: true, rest: paths, options: "-n -x"},
	{words: "gofmt", separate: true, rest: paths, options: "-d -e -l -s"},
	{
		words:    "go list",
		separate: true,
		rest:     paths,
		options:  goBuild + " -m -e -f=* -deps -test -find -compiled -export -u -versions -retracted",
	},
	{words: "go doc", separate: true, rest: paths, options: "-all -c -short -src -u -cmd"},
	{words: "go version", separate: true, rest: paths, options: "-m -v"},
	{
		words:    "go mod tidy, go mod download, go mod verify, go mod graph, go mod why",
		separate: true,
		rest:     names,
		options:  "-v -x -e -m -vendor -json -diff",
	},
	{words: "staticcheck", separate: true, rest: paths, options: "-checks=* -tags= -tests -f=*"},
	{
		words:   "golangci-lint run",
		rest:    paths,
		options: "-[v] -E=* -D=* --verbose --timeout= --new --new-from-rev=* --build-tags=* --disable-all --enable=* --disable=* --fast --color=*",
	},

	{
		words:   "cargo build, cargo check, cargo doc, cargo tree, cargo metadata",
		options: cargo + " --no-deps --format-version= --depth= -e=* -i=* --edges=* --duplicates",
	},
	{
		words:   "cargo test, cargo bench",
		rest:    names,
		options: cargo + " --no-run --no-fail-fast --doc",
		behind:  "-q --quiet --nocapture --no-capture --show-output --test-threads= --ignored --include-ignored --exact --skip=* --list",
	},
	{words: "cargo clippy", options: cargo + " --no-deps", behind: "-W=* -D=* -A=* -F=*"},
	{words: "cargo fmt", options: "-[qv] --all --check -p=* --package=*", behind: "--check"},

	// Options behind the name of a script go to the script, except with npm.
	{words: "npm test, npm t, npm run *, npm run-script *", separate: true, options: "-s --silent --if-present"},
	{words: "pnpm test, pnpm run *, yarn test, yarn run *, bun run *"},
	{
		words:    "npm ls, npm list, npm outdated, pnpm ls, pnpm list, pnpm outdated, yarn list, yarn outdated",
		separate: true,
		options:  "-a --all --json --long --parseable --depth= --prod --dev",
		rest:     names,
	},
	{
		words:    "npm view, npm info, npm explain, npm why, pnpm why, yarn why, yarn info",
		separate: true,
		options:  "--json",
		rest:     names,
	},
	{
		words:    "tsc --noEmit",
		separate: true,
		options:  "-p= --project= --pretty --strict --skipLibCheck --listFiles --listFilesOnly --showConfig",
	},
	{
		words:    "eslint",
		separate: true,
		options:  "--quiet --ext=* --max-warnings= --color --no-color --no-error-on-unmatched-pattern --debug",
		rest:     paths,
	},
	{
		words:    "prettier --check, prettier -c",
		separate: true,
		options:  "--loglevel=* --log-level=* --ignore-unknown --no-color",
		rest:     paths,
	},
	{
		words:    "jest, vitest, vitest run",
		separate: true,
		options:  "-t=* --testNamePattern=* -i --runInBand --ci --silent --verbose --bail --passWithNoTests --no-coverage --run --forceExit --detectOpenHandles --listTests --onlyChanged",
		rest:     paths,
	},

	{
		words:    "bun test",
		separate: true,
		options:  "-t=* --test-name-pattern=* --bail --timeout= --only --todo",
		rest:     paths,
	},

	{words: "pytest, python -m pytest, python3 -m pytest", options: pytest, rest: paths},
	{
		words:   "mypy",
		options: "-[v] -p=* -m=* --package=* --module=* --strict --ignore-missing-imports --show-error-codes --show-error-context --pretty --no-color-output --no-error-summary --check-untyped-defs --warn-unused-ignores --follow-imports=* --python-version=* --exclude=*",
		rest:    paths,
	},
	{
		words:   "ruff check",
		options: "-[qvsn] --quiet --verbose --silent --no-cache --no-fix --select=* --extend-select=* --ignore=* --exclude=* --statistics --diff --output-format=* --target-version=* --show-files --line-length=",
		rest:    paths,
	},
	{
		words:   "ruff format --check, ruff format --diff",
		options: "-[qvn] --quiet --check --diff --exclude=* --line-length=",
		rest:    paths,
	},
	{
		words:   "black --check, black --diff",
		options: "-[qv] -l= -t=* --check --diff --quiet --verbose --line-length= --target-version=* --color --no-color",
		rest:    paths,
	},
	{
		words:   "flake8",
		options: "-[qv] --select=* --ignore=* --extend-ignore=* --exclude=* --max-line-length= --max-complexity= --count --statistics --show-source",
		rest:    paths,
	},
	{
		words:   "pip list, pip show, pip freeze, pip check, pip3 list, pip3 show",
		options: "-[vqlofu] --verbose --outdated --format=* --files --local --user",
		rest:    names,
	},

	{
		words:   "make *, gmake *",
		options: "-[bBknqswS] -j[=] -l[=] -O[=] --jobs[=] --always-make --keep-going --dry-run --just-print --silent --quiet --question --trace --no-print-directory --output-sync[=] --warn-undefined-variables",
	},
	{words: "just *, task *, rake *"},
	{
		words:    "ctest",
		separate: true,
		options:  "-V -VV -N -Q -j= -R=* -E=* -L=* -LE=* -C=* --output-on-failure --rerun-failed --test-dir= --parallel= --stop-on-failure --progress --verbose",
	},
	{
		words:    "cmake --build",
		separate: true,
		options:  "-j= -v -t= --parallel= --target= --config= --clean-first --verbose",
		rest:     names,
	},
	{
		words:    "mvn test, mvn compile, mvn verify, mvn package",
		separate: true,
		options:  "-q -B -o -e -ntp -pl=* -am -fae -ff --quiet --batch-mode --offline --errors --no-transfer-progress",
	},
	{
		words:    "gradle test, gradle build, gradle check, ./gradlew test, ./gradlew build, ./gradlew check",
		separate: true,
		options:  "-q -i --quiet --info --stacktrace --offline --tests=* --rerun-tasks --continue --no-daemon --parallel --console=*",
	},
	{
		words:    "dotnet test, dotnet build",
		separate: true,
		options:  "-c=* --configuration=* -f=* --framework=* --no-build --no-restore --filter=* -v=* --verbosity=* --nologo --list-tests",
		rest:     paths,
	},
	{
		words:    "mix test",
		separate: true,
		options:  "--trace --seed= --max-failures= --stale --failed --only=* --exclude=* --slowest= --color --no-color",
		rest:     paths,
	},
	{
		words:    "rspec, bundle exec rspec",
		separate: true,
		options:  "-e=* -t=* -b --example=* --tag=* --seed= --order=* --fail-fast --only-failures --next-failure --backtrace --dry-run --no-color",
		rest:     paths,
	},
	{
		words:    "phpunit, vendor/bin/phpunit, ./vendor/bin/phpunit",
		separate: true,
		options:  "--filter=* --testsuite=* --group=* --exclude-group=* --stop-on-failure --stop-on-error --testdox --debug --verbose --no-coverage",
		rest:     paths,
	},
	{
		words:   "shellcheck",
		options: "-[C] -s=* -S=* -e=* -i=* -f=* -o=* --shell=* --severity=* --exclude=* --include=* --format=* --color[=]",
		rest:    paths,
	},
	{
		words:   "gh pr view, gh pr list, gh pr diff, gh pr checks, gh pr status, gh issue view, gh issue list, gh issue status, gh run view, gh run list, gh release list, gh repo view",
		options: "-[c] -L= -s=* -A=* -a=* -l=* -B=* -H=* --comments --json=* --limit= --state=* --author=* --assignee=* --label=* --base=* --head=* --search=* --name-only --log --log-failed --job=* --branch=* --workflow=* --status=*",
		rest:    names,
	},
}
