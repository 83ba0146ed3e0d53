package aggregate

import (
	"strings"
	"testing"

	proto "dragoman/adapters/proto/mcp"
	"dragoman/core"
	"dragoman/core/inference"
)

func TestNames(t *testing.T) {
	long := strings.Repeat("l", 70)
	for _, test := range []struct {
		what     string
		prefix   Prefix
		list     []ref
		expected []ref
		want     []string // "": left out; a * at the end stands for a checksum
	}{
		{"alone", PrefixCollision, []ref{{core.Native, "a"}, {"x", "b"}, {"y", "c"}}, nil, []string{"a", "b", "c"}},
		{"the agent's stay", PrefixCollision, []ref{{core.Native, "a"}, {"x", "a"}}, nil, []string{"a", "x__a"}},
		{"two servers", PrefixCollision, []ref{{"x", "a"}, {"y", "a"}}, nil, []string{"x__a", "y__a"}},
		{"one that is not up", PrefixCollision, []ref{{"x", "a"}}, []ref{{"y", "a"}}, []string{"x__a"}},
		{"always", PrefixAlways, []ref{{core.Native, "a"}, {"x", "b"}}, nil, []string{"a", "x__b"}},
		{"never", PrefixNever, []ref{{core.Native, "a"}, {"x", "a"}, {"x", "b"}, {"y", "b"}}, nil, []string{"a", "", "b", ""}},
		{"one underscore is no prefix", PrefixAlways, []ref{{"x", "y_z"}, {"x_y", "z"}}, nil, []string{"x__y_z", "x_y__z"}},
		{"two are", PrefixAlways, []ref{{"x", "y__z"}, {"x__y", "z"}}, nil, []string{"x__y__z", "x__y__z_*"}},
		{"not legal", PrefixCollision, []ref{{"x", "a.b/c d"}, {"x", "a_b_c_d"}, {"x", ""}, {"x", long}}, nil, []string{"a_b_c_d_*", "a_b_c_d", "_*", strings.Repeat("l", 55) + "_*"}},
		{"alike when legal", PrefixCollision, []ref{{"x", "a.b"}, {"y", "a/b"}}, nil, []string{"a_b_*", "a_b_*"}},
		{"another's own name", PrefixCollision, []ref{{core.Native, "x__a"}, {"x", "a"}, {"y", "a"}}, nil, []string{"x__a", "x__a_2", "y__a"}},
	} {
		t.Run(test.what, func(t *testing.T) {
			n := newNames(test.prefix, true)
			n.assign(test.list, test.expected)
			taken := map[string]bool{}
			for i, r := range test.list {
				got, want := n.given[r], test.want[i]
				head, sum := strings.CutSuffix(want, "*")
				if got != want && !(sum && strings.HasPrefix(got, head) && len(got) > len(head)) {
					t.Errorf("%v: %q, want %q", r, got, want)
				}
				if got == "" {
					continue
				}
				if !inference.LegalToolName(got) || taken[got] {
					t.Errorf("%v: %q is not legal, or another's", r, got)
				}
				taken[got] = true
				if back, ok := n.find(got); !ok || back != r {
					t.Errorf("%q means %v, want %v", got, back, r)
				}
			}
		})
	}
}

// A name that was given keeps its meaning, whatever comes later; the long spelling
// always works.
func TestNamesStay(t *testing.T) {
	n := newNames(PrefixCollision, true)
	n.assign([]ref{{"x", "a"}}, nil)
	n.assign([]ref{{core.Native, "b"}, {"x", "a"}, {"y", "a"}}, nil)
	n.assign([]ref{{"y", "a"}}, nil)
	for name, want := range map[string]ref{"a": {"x", "a"}, "x__a": {"x", "a"}, "y__a": {"y", "a"}, "b": {core.Native, "b"}} {
		if got, ok := n.find(name); !ok || got != want {
			t.Errorf("%s means %v, want %v", name, got, want)
		}
	}
	if _, ok := n.find("z__a"); ok {
		t.Error("a name that nobody has means something")
	}
}

func TestTemplatesMatch(t *testing.T) {
	for template, uris := range map[string][2][]string{
		"up://item/{id}":                     {{"up://item/7", "up://item/"}, {"up://item/7/8", "up://items/7", "xup://item/7"}},
		"file:///{+path}":                    {{"file:///a/b.c", "file:///"}, {"file://x"}},
		"a://{x}/b{?q,r}":                    {{"a://1/b", "a://1/b?q=2"}, {"a://1/2/b", "a://1/bc"}},
		"a://b{/x}":                          {{"a://b", "a://b/c/d"}, {"a://c"}},
		"a.b://{x}":                          {{"a.b://1"}, {"aXb://1"}},
		"a://{":                              {nil, {"a://{"}},
		"a://{}":                             {nil, {"a://"}},
		"a://" + strings.Repeat("{x}", 2000): {nil, {"b://"}},
	} {
		re, _ := pattern(template)
		for i, want := range []bool{true, false} {
			for _, uri := range uris[i] {
				if got := re != nil && re.MatchString(uri); got != want {
					t.Errorf("%.40s, %s: %v", template, uri, got)
				}
			}
		}
	}
}

func TestInspect(t *testing.T) {
	q, err := inspect([]byte(`{"name":"n","arguments":{"name":"x","a":1},"other":1,"_meta":{"progressToken":"p","dragoman/hops":2,"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}`))
	if err != nil || q.name != "n" || string(q.args) != `{"name":"x","a":1}` || string(q.token) != `"p"` || q.hops != 2 || q.version != proto.Modern || string(q.caps) != "{}" {
		t.Errorf("%+v, %v", q, err)
	}
	// What a server could read in another way.
	for _, bad := range []string{
		`{"name":"a","name":"b"}`, `{"name":"a","NAME":"b"}`, `{"name":7}`, `{"n\u0061me":"a","name":"b"}`, `{"arguments":{},"Arguments":{}}`, `{"_meta":{"dragoman/hops":-1}}`, `{"_meta":{"dragoman/hops":1.5}}`,
		`{"Cursor":"a"}`, `{"requestState":"a","RequestState":"b"}`, `{"ref":{},"REF":{}}`,
	} {
		if _, err := inspect([]byte(bad)); err == nil {
			t.Errorf("%s is taken", bad)
		}
	}
}
