package policy

import (
	"slices"
	"strings"

	"dragoman/core"
	"dragoman/core/files"
)

// gitLooks are the sub-commands of git that only show what the repository and the workspace hold. The
// repository's own settings may have git run programs for them, which only a sandbox confines.
var gitLooks = []string{
	"annotate", "blame", "cat-file", "check-ignore", "cherry", "count-objects", "describe", "diff", "grep", "log", "ls-files", "ls-tree",
	"merge-base", "name-rev", "rev-list", "rev-parse", "shortlog", "show", "show-branch", "show-ref", "status", "whatchanged",
}

// onlyLooks reports whether a call runs nothing but plain commands that look at files of the workspace,
// with options that are known. Reading elsewhere, and where programs keep keys, does not count.
func (f facts) onlyLooks() bool {
	runs := false
	for i, a := range f.check.Access {
		switch a.Op {
		case core.OpRun:
			runs = true
			if !shows(a, wideScope(f, f.lines[i], a)) {
				return false
			}
		case core.OpRead:
			if a.Path == "" || a.Outside || a.Wide || a.Linked || files.KeepsKeys(a.Path) {
				return false
			}
		case core.OpWrite, core.OpNet:
			return false
		}
	}
	return runs
}

// shows reports whether a program and its sub-command, which the table covers with all that follows
// them, only look; nil: the table does not cover the line.
func shows(a core.Access, words []string) bool {
	switch {
	case len(words) == 0 || a.Outside:
		return false
	case words[0] == "git":
		return confined(a) && len(words) == 2 && slices.Contains(gitLooks, words[1])
	}
	return slices.ContainsFunc(readUsages, func(u usage) bool {
		return slices.Contains(strings.Split(u.words, ", "), words[0])
	})
}

// readUsages lists programs that only read files and print.
var readUsages = []usage{
	{words: "true, false, pwd, whoami, id, nproc, uptime", options: "-[LP]"},
	{words: "echo", options: "-[neE]", rest: texts},
	{
		words:    "test",
		options:  "-[bcdefghkLnoOGprsStuwxz] -nt -ot -ef -eq -ne -lt -le -gt -ge",
		rest:     texts,
		separate: true,
	},
	{words: "seq", options: "-[w] -s=* -f=*", rest: names},
	{words: "sleep", rest: names},
	{words: "uname", options: "-[asnrvmpio]"},
	{
		words:   "date",
		options: "-[uR] -I[=] -d=* -r= +* --utc --universal --date=* --reference= --iso-8601[=] --rfc-3339=* --rfc-email",
	},
	{
		words: "ls", rest: paths,
		options: "-[1aAbBcCdfFgGhHiklLmnNopqQrRsStuUvxXZ] -I=* -T= -w= --all --almost-all --author --escape --ignore-backups --color[=] " +
			"--directory --classify[=] --file-type --format=* --full-time --group-directories-first --no-group --human-readable --si " +
			"--dereference --hide=* --hyperlink[=] --indicator-style=* --inode --ignore=* --numeric-uid-gid --literal --quote-name " +
			"--reverse --recursive --size --sort=* --time=* --time-style=* --width= --zero",
	},
	{
		words:   "cat",
		options: "-[AbeEnstTuv] --show-all --number-nonblank --show-ends --number --squeeze-blank --show-tabs --show-nonprinting",
		rest:    paths,
	},
	{words: "tac, rev, paste, comm", options: "-[s123z] -d=*", rest: paths},
	{words: "head", options: "-[qvz] -n= -c= -# --lines= --bytes= --quiet --silent --verbose", rest: paths},
	{
		words:   "tail",
		options: "-[qvzfF] -n= -c= -s= -# --lines= --bytes= --quiet --silent --verbose --follow[=] --retry",
		rest:    paths,
	},
	{words: "wc", options: "-[cmlLw] --bytes --chars --lines --words --max-line-length", rest: paths},
	{words: "nl", options: "-b=* -n=* -w= -s=* -v=", rest: paths},
	{
		words:   "cut",
		options: "-[snz] -d=* -f= -c= -b= --delimiter=* --fields= --characters= --bytes= --complement --only-delimited --output-delimiter=*",
		rest:    paths,
	},
	{words: "tr", options: "-[cCdst] --complement --delete --squeeze-repeats", rest: texts},
	{
		words: "sort", rest: paths,
		options: "-[bdfghiMRrnVcCmsuz] -k= -t=* --ignore-leading-blanks --dictionary-order --ignore-case --general-numeric-sort --ignore-nonprinting " +
			"--month-sort --human-numeric-sort --numeric-sort --reverse --version-sort --check[=] --key= --merge --stable --field-separator=* --unique",
	},
	{words: "basename, dirname", options: "-[az] -s=* --multiple --suffix=* --zero", rest: texts},
	{
		words:   "realpath, readlink",
		options: "-[efmnqszLP] --canonicalize --canonicalize-existing --canonicalize-missing --relative-to= --relative-base= --no-newline",
		rest:    paths,
	},
	{words: "which, type", options: "-[atpP] --all", rest: paths},
	{
		words:   "stat",
		options: "-[fLtxs] -c=* --format=* --printf=* --dereference --file-system --terse",
		rest:    paths,
	},
	{words: "file", options: "-[bhikLNr] --brief --mime --mime-type --mime-encoding --dereference", rest: paths},
	{
		words:   "du",
		options: "-[abchkmsSxL0] -d= --all --apparent-size --bytes --total --max-depth= --exclude=* --human-readable --summarize --time[=] --threshold=",
		rest:    paths,
	},
	{
		words:   "df",
		options: "-[ahHiklPT] --all --human-readable --inodes --local --portability --print-type --total",
		rest:    paths,
	},
	{words: "md5sum, sha1sum, sha256sum, sha512sum, cksum", options: "-[btz] --binary --text --tag", rest: paths},
	{words: "strings", options: "-[ad] -n= -#", rest: paths},
	{words: "od, hexdump", options: "-[abcCdoxvs] -A=* -t=* -N= -j= -n=", rest: paths},
	{
		words: "diff", rest: paths,
		options: "-[abBcdeEiNqrstTuwyZ] -U= -C= -W= -x=* -I=* -# --brief --report-identical-files --unified[=] --context[=] --side-by-side --width= " +
			"--recursive --new-file --ignore-case --ignore-all-space --ignore-space-change --ignore-blank-lines --ignore-matching-lines=* --text " +
			"--strip-trailing-cr --exclude=* --color[=] --label=* --minimal --suppress-common-lines --show-c-function --normal",
	},
	{words: "cmp", options: "-[bls] -n= -i= --print-bytes --verbose --silent --quiet --bytes=", rest: paths},
	{
		words: "tree", rest: paths,
		options: "-[adfipshugDFCnrtcUvxJXNqQS] -L= -I=* -P=* --dirsfirst --filesfirst --prune --noreport --gitignore --ignore-case --matchdirs --filelimit= --du --si --inodes --charset=*",
	},
	{
		words: "grep, egrep, fgrep", rest: paths, first: anything, instead: "-e -f --regexp --file",
		options: "-[EFGPivwxcLlqosbHhnTZaIrUz] -A= -B= -C= -m= -# -e=* -f= -d=* -D=* --extended-regexp --fixed-strings --basic-regexp --perl-regexp " +
			"--regexp=* --file= --ignore-case --no-ignore-case --invert-match --word-regexp --line-regexp --count --color[=] --colour[=] " +
			"--files-without-match --files-with-matches --max-count= --only-matching --quiet --silent --no-messages --byte-offset --with-filename " +
			"--no-filename --label=* --line-number --initial-tab --null --after-context= --before-context= --context= --text --binary-files=* " +
			"--directories=* --devices=* --exclude=* --exclude-from= --exclude-dir=* --include=* --recursive --line-buffered --null-data",
	},
	{
		words: "rg", rest: paths, first: anything, instead: "-e -f --regexp --file --files --type-list",
		options: "-[FiSsvwxclonNHIpquUPa.0] -e=* -f= -r=* -A= -B= -C= -m= -g=* -t=* -T=* -d= -j= -M= --regexp=* --file= --fixed-strings --ignore-case " +
			"--smart-case --case-sensitive --invert-match --word-regexp --line-regexp --count --count-matches --files-with-matches --files-without-match " +
			"--only-matching --line-number --no-line-number --with-filename --no-filename --pretty --quiet --replace=* --after-context= --before-context= " +
			"--context= --max-count= --glob=* --iglob=* --type=* --type-not=* --type-list --unrestricted --multiline --multiline-dotall --pcre2 --text " +
			"--hidden --no-hidden --no-ignore --no-ignore-vcs --files --json --stats --sort=* --sortr=* --max-depth= --max-columns= --column --no-column " +
			"--heading --no-heading --trim --vimgrep --color=* --colors=* --threads= --null --no-messages --passthru --max-filesize= --crlf --engine=*",
	},
	{
		words: "fd, fdfind", rest: paths, first: anything,
		options: "-[HIupisgF0aq1] -e=* -t=* -d= -E=* -S= -j= --hidden --no-ignore --unrestricted --full-path --ignore-case --case-sensitive --glob " +
			"--fixed-strings --print0 --absolute-path --quiet --extension=* --type=* --max-depth= --min-depth= --exact-depth= --exclude=* --size= " +
			"--changed-within=* --changed-before=* --max-results= --color=* --threads=",
	},
	{
		words: "find", rest: paths, separate: true,
		options: "-H -P -name=* -iname=* -path=* -ipath=* -wholename=* -iwholename=* -regex=* -iregex=* -regextype=* -type=* -xtype=* -maxdepth= -mindepth= " +
			"-size= -mtime= -mmin= -atime= -amin= -ctime= -cmin= -newer= -newermt=* -empty -not -a -o -and -or -true -false -print -print0 -printf=* -ls -prune -quit " +
			"-depth -daystart -xdev -mount -perm=* -user=* -group=* -executable -readable -writable -links= -samefile= -noleaf",
	},
	{
		words:   "sed",
		options: "-[nErsuz] --quiet --silent --regexp-extended --separate --null-data",
		rest:    paths,
		first:   printing,
	},
	{
		words:   "jq",
		options: "-[rcnesSajMCR] --raw-output --raw-output0 --compact-output --null-input --exit-status --slurp --sort-keys --ascii-output --join-output --monochrome-output --color-output --raw-input --tab --indent=",
		rest:    paths,
		first:   filtering,
	},
}

// anything accepts every first operand: the pattern of a search.
func anything(string) bool { return true }

// printing reports whether a script of sed only prints, deletes or replaces. Its other
// commands read and write files, and run programs.
func printing(script string) bool { return len(script) <= 500 && sedScript().MatchString(script) }

var sedScript = matcher(`^` + sedCommand + `( *; *` + sedCommand + `)*;?$`)

const (
	sedText    = `([^/\\\n\[]|\\[^\n]|\[\^?[^\]/\\\n\[^][^\]/\\\n\[]*\])*` // brackets hold no slash: not every sed reads that alike
	sedPlace   = `([0-9]+|\$|/` + sedText + `/)`
	sedCommand = `(` + sedPlace + `(, *(\+?[0-9]+|` + sedPlace + `))?)? *!?([pdq=]|s/` + sedText + `/` + sedText + `/[gpI0-9]*)`
)

// filtering reports whether a filter of jq reads only its input: no modules, which may be
// in any folder, and no environment variables.
func filtering(filter string) bool {
	words := []string{"import", "include", "module", "env", "ENV", "get_search_list"}
	return !slices.ContainsFunc(words, func(w string) bool { return strings.Contains(filter, w) })
}
