package policy

import (
	"strings"
	"testing"

	"dragoman/core"
)

// after returns the verdict on a line when a person has allowed another one for the
// session.
func after(t *testing.T, allowed, line string) core.Verdict {
	t.Helper()
	p := mustNew(t)
	asked := p.Decide(shell(allowed))
	if asked.Effect != core.MustAsk || asked.Remember == "" {
		t.Fatalf("%q is not asked with a key: %+v", allowed, asked)
	}
	c := shell(line)
	c.Remembered = map[string]core.Decision{asked.Remember: core.AllowSession}
	return p.Decide(c)
}

// Commands that people type all day are asked about once. The first line of each group
// is the one that was allowed.
func TestDailyCommandsAreCovered(t *testing.T) {
	for _, group := range [][]string{
		{"git status", "git status -sb", "git status --porcelain=v2 --branch", "git status -uno src", "git --no-pager status"},
		{"git log", "git log --oneline -20", "git log -5 --stat -- core", "git log -n 3 --format='%h %s'", "git log -p -S foo --since='2 weeks' main..HEAD", "git log --graph --all --decorate", "git log -L10,20:core/doc.go", "git log -1 --pretty=format:%H", "git --no-pager log -3"},
		{"git diff", "git diff HEAD~1 -- a.go", "git diff --cached --stat", "git diff -U10 -w main...HEAD", "git diff --name-only --diff-filter=ACM"},
		{"git show", "git show HEAD", "git show --stat HEAD~3", "git show HEAD:core/doc.go", "git show -s --format=%B"},
		{"git add a.go", "git add -A", "git add -u src", "git add ."},
		{"git commit -m x", "git commit -am 'core: do it, see https://a.org/../b'", "git commit -q -m a -m '~b' a.go"},
		{"git branch", "git branch -avv", "git branch --show-current", "git branch topic/x"},
		{"git blame a.go", "git blame -L 10,20 a.go", "git blame -w -C HEAD~2 -- a.go"},
		{"git grep foo", "git grep -n '/api/../v1'", "git grep -il -e foo -e '~bar' -- src"},
		{"git stash list", "git stash list --stat"},
		{"git rev-parse HEAD", "git rev-parse --abbrev-ref HEAD", "git rev-parse --show-toplevel"},
		{"git ls-files", "git ls-files -o --exclude-standard src"},
		{"git fetch", "git fetch origin main", "git fetch --all -p --tags"},
		{"git switch main", "git switch -c topic/x"},
		{"ls", "ls -la", "ls -lhR --color=never src", "ls /home/u/app/core", "ls -I '*.o'"},
		{"cat a", "cat -n a b", "cat -- a", "cat /home/u/lib/x"},
		{"head a", "head -20 a", "head -n 20 a", "head -n20 a", "head -c 100 a b"},
		{"tail a", "tail -n +20 a", "tail -f a"},
		{"wc -l a", "wc a b"},
		{"grep x a", "grep -rn 'func /api' src", "grep -rniE --include='*.go' '(a|b)' .", "grep -A3 -B 3 x a", "grep -e /x -e '~y' a", "grep -v -- x a"},
		{"rg x", "rg -n -tgo -g '!vendor' /api src", "rg --files", "rg -C3 -i --hidden x", "rg -lU 'a\\nb'"},
		{"find . -name x", "find src -type f -name '*.go' -not -path '*/vendor/*'", "find . -size +10k -mtime -7", "find . \\( -name a -o -name b \\) -print0", "find . -perm -111 -maxdepth 2"},
		{"fd x", "fd -e go -t f x src"},
		{"sed -n 1,20p a", "sed -n '/func a/,/^}/p' a", "sed 's/a[0-9]*/b/g; s/c/\\/d/' a b", "sed -n '$p;10,+3p' a", "sed 5q a"},
		{"jq . a", "jq -r '.a[] | select(.b == \"c\") | .d' a", "jq -c keys a b"},
		{"sort a", "sort -nrk2 -t, a", "sort -u a b"},
		{"diff a b", "diff -ru a b", "diff -U 5 a b", "diff --color=never -q a b"},
		{"stat a", "stat -c '%s %n' a"},
		{"date", "date +%F", "date -u '+%Y-%m-%d %H:%M'"},
		{"tree", "tree -aL 2 -I 'node_modules|.git' src"},
		{"go test ./...", "go test -race -run 'TestA/../b' -count=1 ./core/...", "go test -v -timeout 60s -tags e2e ./a ./b", "go test -bench . -benchmem -run=^$ ./a", "go test -mod=readonly ./..."},
		{"go build ./...", "go build -v -tags x ./cmd/y", "go build"},
		{"go vet ./...", "go vet -tags x ./a"},
		{"go list ./...", "go list -m all", "go list -deps -f '{{.Dir}}' ./a"},
		{"go doc x", "go doc -all net/http.Client"},
		{"gofmt -l .", "gofmt -d a.go"},
		{"go mod tidy", "go mod tidy -v"},
		{"cargo test", "cargo test -p x --all-features name", "cargo test -- --nocapture --test-threads=1"},
		{"cargo build", "cargo build --release -j4", "cargo build --workspace -q"},
		{"cargo clippy", "cargo clippy --all-targets -- -D warnings -A clippy::x"},
		{"cargo fmt", "cargo fmt --all -- --check"},
		{"npm test", "npm test --silent"},
		{"npm run build", "npm run build -s"},
		{"npm ls", "npm ls --depth=0 lodash"},
		{"pnpm test"},
		{"yarn test"},
		{"yarn run lint"},
		{"tsc --noEmit", "tsc --noEmit -p web"},
		{"eslint src", "eslint --ext .ts,.tsx --max-warnings 0 src"},
		{"jest", "jest -t 'a b' src/a.test.ts"},
		{"vitest run", "vitest run src/a.test.ts -t name"},
		{"pytest", "pytest -xvs tests/test_a.py::TestB::test_c", "pytest -k 'a and not b' --maxfail=1 -n 4", "pytest --lf --tb=short -q"},
		{"python -m pytest", "python -m pytest -q tests"},
		{"mypy .", "mypy --strict src"},
		{"ruff check", "ruff check --select E,F src"},
		{"make test", "make test -j4 -k"},
		{"make -j4", "make -j4"},
		{"cmake --build build", "cmake --build build -j 4 --target x"},
		{"ctest", "ctest --output-on-failure -R name"},
		{"mvn test", "mvn test -q -B"},
		{"gh pr view 12", "gh pr view 13 --comments", "gh pr view --json title,body 4"},
		{"which go", "which -a python3"},
		{"echo a", "echo -n 'anything ~ /at --all'"},
	} {
		for _, line := range group {
			if v := after(t, group[0], line); v.Effect != core.Allow {
				t.Errorf("after %q, %q: %s, %s", group[0], line, v.Effect, v.Why)
			}
		}
	}
}

// An answer for a program covers no option by which a line makes it run, write, load or
// send something else.
func TestHarmfulOptionsAskAgain(t *testing.T) {
	for allowed, lines := range map[string][]string{
		"git grep foo": {
			"git grep -O./evil.sh foo", "git grep -O ./evil.sh foo", "git grep -nO./evil.sh foo", "git grep --open-files-in-pager=./evil.sh foo",
			"git grep --open-f=./evil.sh foo", "git grep -f /etc/shadow", "git grep --ext-grep foo", "git grep foo -- -O./evil.sh", "git -c core.pager=./evil grep foo",
			"git grep --no-index foo /etc", "git grep -e --open-files-in-pager=./evil.sh", "git --exec-path=. grep foo", "git -p grep foo", "git --git-dir=x grep foo",
		},
		"git log": {
			"git log --output=main.go", "git log --output main.go", "git log -p --ext-diff", "git log --outp=main.go", "git log -O/etc/x", "git log -n --output=x",
			"git log --show-signature", "git -C /etc log", "git log --exec=x", "git log -- --output=x", "git log --textconv",
		},
		"git diff":             {"git diff --output=main.go", "git diff --no-index /etc/a b", "git diff --ext-diff", "git diff -Ox", "git diff --textconv", "git diff ../../x"},
		"git show":             {"git show --output=x", "git show --ext-diff HEAD"},
		"git commit -m x":      {"git commit -F /etc/passwd", "git commit -S -m x", "git commit -Sme -m x", "git commit --gpg-sign=x -m x", "git commit --amend", "git commit -m x --trailer a", "git commit -t x", "git commit --author=a", "git commit -n -m x", "git commit -m --amend"},
		"git add a":            {"git add -p", "git add -e", "git add -fA", "git add --chmod=+x a", "git add --pathspec-from-file=x", "git add ../b"},
		"git branch":           {"git branch -D x", "git branch -d x", "git branch -f a b", "git branch -M a", "git branch --edit-description", "git branch --set-upstream-to=x", "git branch -vD x"},
		"git tag":              {"git tag x", "git tag -d x", "git tag -s x", "git tag -ldv1"},
		"git remote":           {"git remote add x ext::sh", "git remote -v add x y", "git remote remove x", "git remote set-url a b"},
		"git remote -v":        {"git remote update"},
		"git reflog":           {"git reflog expire --all", "git reflog delete x", "git reflog expire"},
		"git fetch":            {"git fetch --upload-pack=./evil", "git fetch ext::sh", "git fetch ./evil", "git fetch /etc/x", "git fetch a:b", "git fetch -o x", "git fetch --recurse-submodules"},
		"git blame a":          {"git blame --contents=/etc/passwd a", "git blame -S x a"},
		"git cat-file -p x":    {"git cat-file --textconv x", "git cat-file --filters x", "git cat-file --batch"},
		"git ls-files":         {"git ls-files -X /etc/x", "git ls-files --exclude-from=/etc/x"},
		"git switch main":      {"git switch -f main", "git switch -C main", "git switch --discard-changes main", "git switch --orphan x"},
		"git status":           {"git statusx", "git status --pathspec-from-file=x", "git stash", "git send-email --smtp-server=./evil a", "git format-patch -oDIR HEAD~1"},
		"git rev-parse HEAD":   {"git rev-parse --parseopt", "git rev-parse --sq-quote a"},
		"rg x":                 {"rg --hostname-bin ./evil x", "rg --hostname-bin=./evil x", "rg --pre ./evil x", "rg --pre=./evil x", "rg -z x", "rg -nz x", "rg --search-zip x", "rg --hyperlink-format=a x", "rg x /etc", "rg -f /etc/shadow", "rg -e x /etc", "rg --ignore-file=/etc/x x"},
		"grep x a":             {"grep -f /etc/shadow a", "grep -rf /etc/shadow", "grep -f/etc/shadow a", "grep --file=/etc/shadow a", "grep x /etc/shadow", "grep -e x /etc/shadow", "grep x ~/.netrc", "grep --exclude-from=/etc/x x a", "grep x -- -R"},
		"sort a":               {"sort -o main.go a", "sort -omain.go a", "sort -nrbfo main.go a", "sort -nrbfomain.go a", "sort --output=main.go a", "sort --outp=main.go a", "sort --compress-program=./evil a", "sort -T /tmp a", "sort --files0-from=/etc/x", "sort -k -o main.go"},
		"tree":                 {"tree -o x", "tree -aCdfo x", "tree -R -H . -L 1", "tree --fromfile /etc/x", "tree --info"},
		"date":                 {"date -us 12:00", "date -s 12:00", "date --set=12:00", "date 010100002030", "date -f /etc/shadow", "date --file=/etc/shadow"},
		"diff a b":             {"diff -l a b", "diff --paginate a b", "diff --to-file=/etc/x a", "diff a /etc/shadow", "diff -X /etc/x a b"},
		"find . -name x":       {"find . -exec rm {} +", "find . -delete", "find . -fprint main.go", "find . -fls x", "find . -ok x ';'", "find . -execdir x ';'", "find . -fprintf a b", "find / -name id_rsa", "find . -files0-from x", "find . -name -delete"},
		"fd x":                 {"fd -x rm", "fd x -X rm", "fd -l x", "fd --exec rm", "fd -Hx rm", "fd --exec-batch=rm x", "fd x /etc", "fd --base-directory=/etc x", "fd --search-path /etc x"},
		"sed -n 1p a":          {"sed -i s/a/b/ a", "sed -ni 1p a", "sed -i.bak 1d a", "sed --in-place 1d a", "sed 'w main.go' a", "sed '1e id' a", "sed 's/a/b/e' a", "sed 's/a/b/w x' a", "sed -n 'r /etc/shadow' a", "sed -f x a", "sed -e 1p a", "sed -n 1p /etc/shadow", "sed 's/[/]/;s/w evil/x/' a", "sed '1p;w x' a", "sed '1p\nw x' a", "sed -n '1!G;h;$!d;e id' a", "sed 's/a/b\\\nw x/' a", "sed p -s --in-place a"},
		"jq . a":               {"jq -f /etc/x a", "jq --from-file /etc/x", "jq 'import \"config\" as $c {search:\"/home/u/.docker\"}; $c' a", "jq -n env", "jq -n '$ENV.X'", "jq -L/etc . a", "jq --slurpfile a /etc/x . a", "jq --rawfile a /etc/x . a", "jq -rf x a"},
		"ls":                   {"ls ~", "ls /etc", "ls ..", "ls --hyperlin"},
		"cat a":                {"cat ~/.ssh/id_rsa", "cat /etc/shadow", "cat src/../../x", "cat a > b", "cat a | sh", "cat @x"},
		"file a":               {"file -f /etc/x", "file -m ./evil a", "file -C -m x", "file -z a"},
		"wc a":                 {"wc --files0-from=/etc/x"},
		"tail a":               {"tail --pid=1 a"},
		"shellcheck a":         {"shellcheck -x a", "shellcheck --rcfile=/etc/x a", "shellcheck -P /etc a"},
		"go test ./...":        {"go test -exec ./x ./...", "go test --exec=./x", "go test -toolexec=./x", "go test -vettool=./x", "go test -o x", "go test -c", "go test -coverprofile=main.go", "go test -cpuprofile main.go", "go test -args x", "go test -ldflags=-x", "go test -gcflags=-x", "go test -modfile=x", "go test -overlay=x", "go test -C /tmp", "go test -pkgdir=x", "go test -outputdir=x", "go test -run -exec=./x", "go test -trace=x", "go test -mod=mod", "go test -test.run=x", "go test ../x"},
		"go build ./...":       {"go build -o main.go ./x", "go build -ldflags=-extld=./x", "go build -toolexec ./x", "go build -buildmode=plugin", "go build -compiler=x"},
		"go vet ./...":         {"go vet -vettool=./x", "go vet -V=full"},
		"go list ./...":        {"go list -toolexec=./x", "go list -mod=mod", "go list -modfile=x"},
		"go doc x":             {"go doc -http"},
		"gofmt -l .":           {"gofmt -w .", "gofmt -r 'a -> b' .", "gofmt -cpuprofile=x ."},
		"cargo test":           {"cargo test --config x", "cargo --config x test", "cargo test --manifest-path=/tmp/x", "cargo test --target-dir=/tmp", "cargo test -Zx", "cargo +x test", "cargo test -- --logfile=main.go", "cargo test -C /tmp", "cargo test --target=x.json", "cargo test --profile=x"},
		"cargo clippy":         {"cargo clippy --fix", "cargo clippy -- -Clinker=./evil", "cargo clippy -- -C linker=./evil"},
		"cargo fmt":            {"cargo fmt -- --config-path=/etc", "cargo fmt --manifest-path=/x"},
		"npm test":             {"npm test --script-shell=./evil", "npm test --script-sh=./evil", "npm test --prefix=/tmp", "npm test -- --config=./evil", "npm test ./evil", "npm test -C /tmp", "npm explore x ./evil", "npm test --userconfig=x", "npm exec x", "npm test --node-options=--require=./evil"},
		"npm run build":        {"npm run build -- --x", "npm run deploy", "npm run build ./evil", "npm run build --script-shell=./evil"},
		"pnpm test":            {"pnpm test --reporter=./evil", "pnpm recursive exec x", "pnpm test -- x", "pnpm -r test", "pnpm --dir=/tmp test"},
		"yarn test":            {"yarn test --config ./evil", "yarn test x", "yarn workspaces foreach exec x", "yarn --cwd /tmp test"},
		"yarn run lint":        {"yarn run lint --fix", "yarn run build"},
		"tsc --noEmit":         {"tsc --noEmit false", "tsc --noEmit --outDir x", "tsc --noEmit -p /etc", "tsc -p .", "tsc --noEmit --noEmit false", "tsc --noEmit --plugins x"},
		"eslint src":           {"eslint --fix src", "eslint -c ./evil.js src", "eslint --config=./evil.js src", "eslint -f ./evil.js src", "eslint --rulesdir x src", "eslint --parser ./x src", "eslint -o main.go src", "eslint --plugin x src", "eslint --resolve-plugins-relative-to=/tmp src", "eslint --cache-location=x src"},
		"jest":                 {"jest --config ./evil.js", "jest -c ./evil.js", "jest -tc ./evil.js", "jest -u", "jest --globalSetup=./x", "jest --transform=x", "jest --reporters=./x", "jest --outputFile=main.go", "jest --rootDir=/tmp", "jest -w", "jest --testRunner=./x", "jest --runner ./x"},
		"vitest run":           {"vitest run --config ./evil.ts", "vitest run -c ./evil.ts", "vitest run --reporter=./evil.ts", "vitest run --outputFile=main.go", "vitest run -u", "vitest run --dir=/tmp", "vitest run -r /tmp"},
		"bun test":             {"bun test --preload ./evil", "bun test -r ./evil", "bun test -i", "bun test -c x"},
		"pytest":               {"pytest -p evil", "pytest -pevil", "pytest -c ./evil.ini", "pytest -o x=y", "pytest --rootdir=/tmp", "pytest --basetemp=src", "pytest --junitxml=main.py", "pytest --junit-x=main.py", "pytest --pdbcls=a:b", "pytest -xvp evil", "pytest @x", "pytest --confcutdir=/", "pytest -W error::evil.X", "pytest --import-mode=x", "pytest --override-ini=x", "pytest /tmp/x.py", "pytest -k -pevil"},
		"python -m pytest":     {"python -m http.server", "python -m pytest -p evil", "python -c x", "python -X x -m pytest"},
		"mypy .":               {"mypy --python-executable ./evil .", "mypy --python-executable=./evil .", "mypy --config-file=x .", "mypy --install-types", "mypy --html-report x .", "mypy -c x", "mypy --custom-typeshed-dir=/x ."},
		"ruff check":           {"ruff check --fix", "ruff check --config x", "ruff check -o main.py", "ruff check --add-noqa", "ruff format", "ruff clean", "ruff check --unsafe-fixes --fix", "ruff check --output-file=x"},
		"ruff format --check":  {"ruff format", "ruff format src", "ruff format --check --config=x"},
		"black --check .":      {"black .", "black --check --config=x ."},
		"make test":            {"make test SHELL=./evil", "make deploy", "make test -f evil.mk", "make test -C /tmp", "make test --eval=x", "make test -I /tmp", "make test CC=./evil", "make test -kf evil.mk", "make -f evil.mk test", "make test deploy"},
		"rake test":            {"rake test -r./e", "rake -r./e test", "rake test X=y", "rake -f x test"},
		"just build":           {"just build x", "just build --shell x", "just -f x build"},
		"ctest":                {"ctest -S x", "ctest -D x", "ctest --build-and-test a b", "ctest -T x", "ctest --test-dir=/tmp", "ctest --output-junit x", "ctest -O x"},
		"cmake --build build":  {"cmake --build build -- SHELL=x", "cmake -P x", "cmake --build /tmp/x"},
		"mvn test":             {"mvn test -Dexec.executable=x", "mvn test -f /tmp/pom.xml", "mvn test -s x", "mvn test deploy"},
		"gradle test":          {"gradle test -I x", "gradle test --init-script=x", "gradle test -Px=y", "gradle test -b x", "gradle test publish"},
		"dotnet test":          {"dotnet test -l x", "dotnet test --logger=x", "dotnet test -p:x=y", "dotnet test /p:x=y", "dotnet test @x", "dotnet test --test-adapter-path=x", "dotnet test --settings x", "dotnet test -o x"},
		"bundle exec rspec":    {"bundle exec rake", "bundle exec rspec -r ./evil", "bundle exec rspec -f ./evil", "bundle exec rspec -I x", "bundle exec rspec -o x"},
		"gh pr view 1":         {"gh pr view -w", "gh pr view --web", "gh pr view 1 --jq env", "gh pr checkout 1", "gh pr view 1 -q env", "gh api x"},
		"hatch env show":       {"hatch env run x"},
		"helm template x":      {"helm template x --post-renderer ./evil"},
		"gcc a.c":              {"gcc a.c -wrapper ./evil", "gcc -B. a.c"},
		"golangci-lint run":    {"golangci-lint run --fix", "golangci-lint run -c x", "golangci-lint run --config=x", "golangci-lint run --out-format x", "golangci-lint run -vc x"},
		"staticcheck ./...":    {"staticcheck -debug.cpuprofile=x ./..."},
		"prettier --check src": {"prettier --check --write src", "prettier --check --plugin=./evil src", "prettier --check --config=x src", "prettier src --write"},
		"realpath a":           {"realpath ../x"},
	} {
		for _, line := range lines {
			v := after(t, allowed, line)
			if v.Effect != core.MustAsk {
				t.Errorf("after %q, %q: %s, %s", allowed, line, v.Effect, v.Why)
			}
			if v.Effect == core.MustAsk && v.RememberText != "" && v.RememberText == "`"+rowed(allowed)+"` commands" {
				t.Errorf("after %q, %q is asked as %s", allowed, line, v.RememberText)
			}
		}
	}
}

// rowed returns the first words of a line that a row of the table covers.
func rowed(line string) string {
	words := strings.Fields(line)
	_, n := covering(words)
	return strings.Join(words[:n], " ")
}

// No letter that a row does not name passes, alone, joined with one that it names, or
// with a value attached.
func TestUnknownLettersAskAgain(t *testing.T) {
	inside := func(string) bool { return false }
	for _, list := range rows() {
		for _, r := range list {
			for c := '!'; c <= '~'; c++ {
				letter := "-" + string(c)
				if _, known := r.options[letter]; known || c == '-' || c >= '0' && c <= '9' {
					continue
				}
				lines := [][]string{{letter}, {letter + "x"}, {letter, "x"}, {letter + "=x"}, {"--x" + letter[1:]}}
				for known, is := range r.options {
					if is == noValue && len(known) == 2 && known[0] == '-' {
						lines = append(lines, []string{known + letter[1:]}, []string{known + letter[1:] + "x"})
					}
				}
				for _, args := range lines {
					if _, known := r.options[args[0]]; !known && r.covers(args, inside) {
						t.Errorf("%s %q is covered", strings.Join(r.words, " "), args)
					}
				}
			}
		}
	}
}

// Every name in the table can be typed, and no row is in it twice.
func TestTableOfHarmlessOptions(t *testing.T) {
	seen := map[string]bool{}
	for program, list := range rows() {
		for _, r := range list {
			words := strings.Join(r.words, " ")
			if seen[words] {
				t.Errorf("%s has two rows", words)
			}
			seen[words] = true
			if r.words[0] != program || program == "*" {
				t.Errorf("%s: a row begins with a program", words)
			}
			for _, options := range []map[string]value{r.options, r.behind} {
				for name := range options {
					long := strings.HasPrefix(name, "--") || r.separate
					if len(name) < 2 || name != "+*" && name[0] != '-' || strings.ContainsAny(name, "[]*") && name != "+*" || !long && len(name) > 2 {
						t.Errorf("%s: %q is no option", words, name)
					}
				}
			}
		}
	}
}
