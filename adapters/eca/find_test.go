package eca

import (
	"encoding/json"
	"testing"

	"dragoman/adapters/eca/refer"
	"dragoman/adapters/proto/eca"
	"dragoman/adapters/wire"
)

// Reading any params of a client ends with a result or an error.
func FuzzParams(f *testing.F) {
	for _, seed := range []string{
		`{"chatId":"c","query":"x","contexts":[{"type":"file","path":"a"},{"type":"cursor"},null,5]}`, `{"provider":"p","data":{"key":"x"},"method":null}`,
		`{"job-id":"j"}`, `{"id":"r","text":"t","prompt":"p","path":"a","range":{"start":{"line":-1},"end":{"line":9}}}`, `{"docText":"a","docVersion":1,"position":{"line":1,"character":1}}`,
		`{"chatId":"c","contentId":"m","include":["tools","x"]}`, `{"chatId":"c","before":"lastCompaction","after":-2}`, `{"message":"/login @~/x:L1-L2","contexts":[{"type":"file","path":"file:///%61"}]}`,
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		raw := camel(json.RawMessage(text))
		if !json.Valid(raw) {
			return
		}
		var (
			query  eca.QueryContextParams
			login  eca.LoginParams
			input  eca.LoginInputParams
			job    eca.JobParams
			back   eca.RollbackParams
			page   eca.HistoryParams
			prompt eca.PromptParams
		)
		for _, p := range []any{&query, &login, &input, &job, &back, &page, &prompt} {
			_ = wire.Unmarshal(raw, p) // an error is the answer
		}
		refer.Without(refer.Offered([]string{"/w"}, query.Query), refer.Given(query.Contexts))
		if w, _, err := windowOf(page.Limit, page.Before, page.After); err == nil {
			if w, err = w.behind(3); err == nil {
				if from, to := w.of(5); from < 0 || from > to || to > 5 {
					t.Errorf("%s: from %d to %d of 5", text, from, to)
				}
			}
		}
	})
}
