package display

import (
	"slices"
	"strings"
	"unicode"
)

// secretWords are the words that name a secret, wherever in a name they are. The last two lines
// are words that are often written as one.
var secretWords = []string{
	"password", "passwords", "passwd", "passphrase", "passcode", "pass", "pwd", "pin", "secret", "secrets", "token",
	"tokens", "credential", "credentials", "cookie", "cookies", "auth", "oauth", "authorization", "authentication", "bearer",
	"apikey", "apikeys", "apitoken", "apisecret", "authkey", "authtoken", "accesstoken", "refreshtoken", "accesskey",
	"privatekey", "secretkey", "clientsecret", "signingkey", "sshkey", "masterkey",
}

// openKeys are the words in front of "key" that make it no secret.
var openKeys = []string{
	"public", "primary", "foreign", "sort", "partition", "cache", "object", "group", "row", "index",
	"map", "hot", "shortcut", "idempotency", "routing", "storage", "tokenizer",
}

// SecretName reports whether a variable, a header or an argument of that name is a secret. It
// compares whole words, however they are joined (API_KEY, api-key, apiKey), and without
// trailing numbers: a tokenizer, a keyboard and a passage are not secrets. A key is one only
// if a word before it says which. Where the context says so, as among the headers of a server,
// put its name there (headers.key).
func SecretName(name string) bool {
	words := wordsOf(name)
	for i, word := range words {
		switch {
		case slices.Contains(secretWords, word):
			return true
		case (word == "key" || word == "keys") && i > 0 && i == len(words)-1 && !slices.Contains(openKeys, words[i-1]):
			return true
		}
	}
	return false
}

// wordsOf returns the words of a name, in lower case, without the numbers at their ends.
func wordsOf(name string) (words []string) {
	for _, part := range strings.FieldsFunc(name, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }) {
		runes := []rune(part)
		from := 0
		for i := 1; i < len(runes); i++ {
			up := unicode.IsUpper(runes[i])
			if up && (!unicode.IsUpper(runes[i-1]) || i+1 < len(runes) && unicode.IsLower(runes[i+1])) {
				words = append(words, strings.ToLower(string(runes[from:i])))
				from = i
			}
		}
		words = append(words, strings.ToLower(string(runes[from:])))
	}
	for i, word := range words {
		words[i] = strings.TrimRightFunc(word, unicode.IsDigit)
	}
	return slices.DeleteFunc(words, func(word string) bool { return word == "" })
}
