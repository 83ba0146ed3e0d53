package policy

// What several sub-commands of git share. Left out are the options that name a program
// (-O of grep, --ext-diff, --upload-pack, --exec), a file to write (--output, -o) or a
// key to sign with.
const (
	gitDiff = " -[pusWRabwz] -U= -M[=] -C[=] -B[=] -l= -S=* -G=* --patch --no-patch --unified= --raw --patch-with-raw --stat[=] --numstat --shortstat --dirstat[=] " +
		"--summary --compact-summary --name-only --name-status --submodule[=] --color[=] --no-color --color-moved[=] --color-words[=] --word-diff[=] " +
		"--word-diff-regex=* --no-renames --find-renames[=] --find-copies[=] --find-copies-harder --check --full-index --binary --abbrev[=] --no-abbrev " +
		"--diff-filter=* --pickaxe-all --pickaxe-regex --relative[=] --text --ignore-space-at-eol --ignore-space-change --ignore-all-space " +
		"--ignore-blank-lines --inter-hunk-context= --function-context --exit-code --quiet --no-ext-diff --no-textconv --ignore-submodules[=] " +
		"--minimal --patience --histogram --diff-algorithm=* --no-prefix --src-prefix=* --dst-prefix=* --no-color-moved"
	gitLog = " -n= -# -L=* -[giEFPcqmt] --max-count= --skip= --since=* --after=* --until=* --before=* --author=* --committer=* --grep=* --all-match --invert-grep " +
		"--regexp-ignore-case --extended-regexp --fixed-strings --perl-regexp --merges --no-merges --first-parent --not --all --branches[=] --tags[=] " +
		"--remotes[=] --glob=* --exclude=* --cherry --cherry-pick --cherry-mark --left-only --right-only --left-right --boundary --simplify-by-decoration " +
		"--full-history --ancestry-path[=] --date-order --author-date-order --topo-order --reverse --follow --walk-reflogs --graph --oneline --pretty[=] " +
		"--format=* --abbrev-commit --no-abbrev-commit --decorate[=] --no-decorate --decorate-refs=* --date=* --relative-date --parents --children " +
		"--source --notes[=] --no-notes --show-pulls --log-size --count --no-walk[=] --dense --sparse --encoding=*"
)

// gitUsages lists sub-commands of git that show things, or change the repository in ways that
// can be undone.
var gitUsages = []usage{
	{
		words:   "git status",
		options: "-[sbvz] -u[=] --short --branch --show-stash --porcelain[=] --long --verbose --untracked-files[=] --ignore-submodules[=] --ignored[=] --column[=] --no-column --ahead-behind --no-ahead-behind --renames --no-renames",
		rest:    paths,
	},
	{words: "git diff", options: gitDiff + " --cached --staged --merge-base", rest: paths},
	{words: "git log, git whatchanged", options: gitDiff + gitLog, rest: paths},
	{
		words:   "git shortlog",
		options: "-[snec] --summary --numbered --email --committer --all --no-merges --since=* --until=* --group=*",
		rest:    paths,
	},
	{words: "git show", options: gitDiff + gitLog, rest: paths},
	{words: "git reflog", options: gitLog},
	{words: "git reflog show", options: gitLog, rest: names},
	{words: "git rev-list", options: gitLog, rest: paths},
	{
		words:   "git blame, git annotate",
		options: "-[lbtfnpswec] -L=* -M[=] -C[=] --line-porcelain --porcelain --show-name --show-number --show-email --root --show-stats --date=* --abbrev= --first-parent --reverse",
		rest:    paths,
	},
	{
		words: "git grep", rest: paths, first: anything, instead: "-e",
		options: "-[aiIwvhHEGPFnlLzocqWpr] -A= -B= -C= -m= -# -e=* --cached --untracked --recurse-submodules --text --ignore-case --word-regexp --invert-match --full-name " +
			"--extended-regexp --basic-regexp --perl-regexp --fixed-strings --line-number --column --files-with-matches --name-only --files-without-match " +
			"--null --only-matching --count --color[=] --no-color --break --heading --show-function --context= --after-context= --before-context= " +
			"--function-context --max-depth= --threads= --and --or --not --all-match --quiet --max-count=",
	},
	{
		words:   "git branch",
		options: "-[arvq] --all --remotes --list --show-current --verbose --contains=* --no-contains=* --merged[=] --no-merged[=] --points-at=* --sort=* --format=* --column[=] --color[=] --abbrev[=]",
		rest:    names,
	},
	{words: "git tag", options: "-n[=] --sort=* --contains=* --merged[=] --format=* --points-at=*"},
	{words: "git tag -l, git tag --list", options: "-n[=] --sort=* --format=*", rest: texts},
	{words: "git remote", options: "-[v] --verbose"},
	{words: "git remote show, git remote get-url", options: "-[n] --all --push", rest: names},
	{
		words:   "git worktree list, git stash list, git stash show",
		options: "-[pvuz] --porcelain --verbose --stat[=] --patch --name-only --name-status --oneline",
		rest:    names,
	},
	{
		words:   "git ls-files",
		options: "-[cdmoiskutvz] --cached --deleted --modified --others --ignored --stage --unmerged --killed --directory --no-empty-directory --exclude-standard --exclude=* --error-unmatch --full-name --eol --deduplicate --abbrev[=]",
		rest:    paths,
	},
	{
		words:   "git ls-tree",
		options: "-[drtlz] --name-only --name-status --long --full-name --full-tree --abbrev[=]",
		rest:    paths,
	},
	{words: "git cat-file", options: "-[tspe]", rest: paths},
	{
		words:   "git rev-parse",
		options: "-[q] --verify --quiet --short[=] --abbrev-ref[=] --symbolic --symbolic-full-name --show-toplevel --show-prefix --show-cdup --git-dir --git-common-dir --absolute-git-dir --is-inside-work-tree --is-inside-git-dir --is-bare-repository --show-superproject-working-tree",
		rest:    paths,
	},
	{
		words:   "git describe",
		options: "--all --tags --always --long --dirty[=] --broken[=] --abbrev= --candidates= --match=* --exclude=* --first-parent --exact-match --contains",
		rest:    names,
	},
	{
		words:   "git merge-base",
		options: "-[a] --all --is-ancestor --fork-point --octopus --independent",
		rest:    names,
	},
	{
		words:   "git show-ref, git name-rev, git show-branch, git cherry, git count-objects",
		options: "-[qdsavH] --tags --heads --branches --head --hash[=] --verify --name-only --always --verbose",
		rest:    names,
	},
	{words: "git check-ignore", options: "-[qvnz] --verbose --non-matching --no-index", rest: paths},
	{
		words:   "git add",
		options: "-[nvAuN] --dry-run --verbose --all --update --intent-to-add --no-all --ignore-removal",
		rest:    paths,
	},
	{
		words:   "git commit",
		options: "-[aqvs] -m=* --message=* --all --quiet --verbose --signoff --dry-run --short --branch --porcelain --long --allow-empty",
		rest:    paths,
	},
	{
		words:   "git switch",
		options: "-[qd] -c= --create= --detach --quiet --guess --no-guess --no-track",
		rest:    names,
	},
	{
		words:   "git fetch",
		options: "-[aqvtnp] --all --append --quiet --verbose --tags --no-tags --prune --dry-run --depth= --deepen= --unshallow --progress --no-progress",
		rest:    names,
	},
}
