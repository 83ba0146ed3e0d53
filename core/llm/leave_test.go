package llm

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"dragoman/core"
	"dragoman/core/coretest"
	"dragoman/core/inference"
)

// The conversation of these tests: an old picture of the user, an answer with a sealed thought and a call, the call's
// result with a picture, and a new picture of the user.
var (
	oldPicture  = core.Image{MIME: "image/png", Data: []byte("an old picture of the user")}
	shotPicture = core.Image{MIME: "image/png", Data: []byte("a picture that a tool returned")}
	newPicture  = core.Image{MIME: "image/bmp", Data: []byte("a new picture of the user")}
	sealedOf    = map[string]string{
		KindOpenAIChat:      `{"of":"svc/m","calls":[{"call":0,"extra_content":{"google":{"thought_signature":"c2lnbmF0dXJlLW9mLXRoZS1jYWxs"}}}]}`,
		KindOpenAIResponses: `{"of":"svc/m","item":{"type":"reasoning","id":"rs_0a18166210d72b5e","summary":[],"encrypted_content":"gAAAAAbcdefghijklmnop"}}`,
		KindAnthropic:       `{"of":"svc/m","signature":"c2lnbmF0dXJlLW9mLXRoZS10aG91Z2h0"}`,
		KindOllama:          `{"of":"svc/m","field":"thinking"}`,
	}
)

func illustrated(kind string) *inference.Request {
	schema := json.RawMessage(`{"type":"object","properties":{}}`)
	return &inference.Request{
		Session: "s1", System: "Be brief.",
		Tools: []inference.ToolSpec{{Name: "read_file", Schema: schema}, {Name: "pics__shot", Schema: schema}, {Name: "pics__odd", Schema: schema}},
		Messages: []inference.Message{
			{Role: inference.RoleUser, Blocks: []core.Block{core.Text{Text: "look"}, oldPicture}},
			{
				Role: inference.RoleAssistant, Text: "I take a picture.",
				Thoughts: []inference.Thought{{Text: "A picture would help.", Sealed: json.RawMessage(sealedOf[kind])}},
				Calls:    []inference.ToolUse{{ID: "c1", Name: "pics__shot", Args: json.RawMessage(`{}`)}},
			},
			{Role: inference.RoleTool, Result: inference.ToolReturn{ID: "c1", Name: "pics__shot", Blocks: []core.Block{core.Text{Text: "here"}, shotPicture}}},
			{Role: inference.RoleUser, Blocks: []core.Block{core.Text{Text: "and this"}, newPicture}},
		},
	}
}

// said makes refusals in the forms of the services.
func anthropicSays(message string) string {
	return `{"type":"error","error":{"type":"invalid_request_error","message":` + quote(message) + `},"request_id":"req_011CSYZQLGckFRq2p8UazvCs"}`
}

func openAISays(message, param, code string) string {
	return fmt.Sprintf(`{"error":{"message":%s,"type":"invalid_request_error","param":%s,"code":%s}}`, quote(message), quote(param), quote(code))
}

func geminiSays(message string) string {
	return `[{"error":{"code":400,"message":` + quote(message) + `,"status":"INVALID_ARGUMENT"}}]`
}

func ollamaSays(message string) string { return `{"error":` + quote(message) + `}` }

// refusalCase is a service that refuses requests with some content.
type refusalCase struct {
	name, kind string
	has        []string // what is refused: any of these
	status     int
	says       string
	left       []string // keys of the parts that are left out
	tries      int      // of the first prompt
}

func refusalCases() []refusalCase {
	b64 := func(p core.Image) string { return base64.StdEncoding.EncodeToString(p.Data) }
	old, shot, fresh := inference.PictureKey(oldPicture), inference.PictureKey(shotPicture), inference.PictureKey(newPicture)
	thought := func(kind string) string {
		return inference.ThoughtKey(inference.Thought{Sealed: json.RawMessage(sealedOf[kind])})
	}
	pictures := []string{b64(oldPicture), b64(shotPicture), b64(newPicture)}
	odd, oddSent := []string{inference.ToolKey("pics__odd")}, []string{`"name":"pics__odd"`}
	return []refusalCase{
		{"too small, of a tool", KindAnthropic, []string{b64(shotPicture)}, 400, anthropicSays("messages.2.content.0.tool_result.content.1.image.source.base64.data: Image must be at least 512 pixels"), []string{shot}, 2},
		{"too large", KindAnthropic, []string{b64(newPicture)}, 400, anthropicSays("messages.2.content.2.image.source.base64: image exceeds 5 MB maximum: 5316852 bytes > 5242880 bytes"), []string{fresh}, 2},
		{"too wide among many", KindAnthropic, []string{b64(oldPicture)}, 400, anthropicSays("messages.0.content.1.image.source.base64.data: At least one of the image dimensions exceed max allowed size for many-image requests: 2000 pixels"), []string{old}, 2},
		{"wrong type", KindAnthropic, []string{b64(newPicture)}, 400, anthropicSays("messages.2.content.2.image.source.base64.media_type: Input should be 'image/jpeg', 'image/png', 'image/gif' or 'image/webp'"), []string{fresh}, 2},
		{"unreadable, without a place", KindAnthropic, []string{b64(shotPicture)}, 400, anthropicSays("Could not process image"), []string{shot, fresh}, 2},
		{"an old one, without a place", KindAnthropic, []string{b64(oldPicture)}, 400, anthropicSays("Could not process image"), []string{shot, fresh, old}, 3},
		{"request too large", KindAnthropic, []string{b64(newPicture)}, 413, `{"type":"error","error":{"type":"request_too_large","message":"Request exceeds the maximum size"}}`, []string{shot, fresh}, 2},
		{"thought's signature", KindAnthropic, []string{"c2lnbmF0dXJlLW9mLXRoZS10aG91Z2h0"}, 400, anthropicSays("messages.1.content.0: Invalid `signature` in `thinking` block"), []string{thought(KindAnthropic)}, 2},
		{"signature, behind a gateway", KindAnthropic, []string{"c2lnbmF0dXJlLW9mLXRoZS10aG91Z2h0"}, 400, `{"error":{"code":400,"message":` + quote(anthropicSays("messages.1.content.0: Invalid `signature` in `thinking` block")) + `,"status":"INVALID_ARGUMENT"}}`, []string{thought(KindAnthropic)}, 2},
		{"tool's schema", KindAnthropic, oddSent, 400, anthropicSays("tools.2.custom.input_schema: input_schema does not support oneOf, allOf, or anyOf at the top level"), odd, 2},
		{"document", KindAnthropic, []string{b64(newPicture)}, 400, anthropicSays("messages.2.content.2.document.source.base64.data: The PDF specified was not valid."), []string{fresh}, 2},

		{"unsupported", KindOpenAIChat, []string{b64(shotPicture), b64(newPicture)}, 400, openAISays("You uploaded an unsupported image. Please make sure your image has of one the following formats: ['png', 'jpeg', 'gif', 'webp'].", "", "invalid_image_format"), []string{shot, fresh}, 2},
		{"at a place", KindOpenAIChat, []string{b64(newPicture)}, 400, openAISays("Invalid MIME type. Only image types are supported.", "messages[5].content[1].image_url", "invalid_image_format"), []string{fresh}, 2},
		{"for safety", KindOpenAIChat, []string{b64(newPicture)}, 400, openAISays("Your input image may contain content that is not allowed by our safety system.", "messages[5].content[1].image_url.url", "moderation_blocked"), []string{fresh}, 2},
		{"too many pictures", KindOpenAIChat, []string{b64(oldPicture)}, 400, openAISays("Too many images in request: 3. Maximum is 2.", "", ""), []string{old}, 2},
		{"too many pictures, at most one", KindOpenAIChat, []string{b64(oldPicture), b64(shotPicture)}, 400, openAISays("At most 1 image(s) may be provided in one request.", "", ""), []string{old, shot}, 2},
		{"no pictures", KindOpenAIChat, pictures, 404, `{"error":{"message":"No endpoints found that support image input","code":404}}`, []string{inference.AllPictures}, 2},
		{"text alone", KindOpenAIChat, pictures, 422, openAISays("Failed to deserialize the JSON body into the target type: messages[1]: unknown variant `image_url`, expected `text`", "", ""), []string{inference.AllPictures}, 2},
		{"in Chinese", KindOpenAIChat, []string{b64(newPicture)}, 400, `{"error":{"code":"1210","message":"图片输入格式/解析错误"}}`, []string{shot, fresh}, 2},
		{"tool's parameters", KindOpenAIChat, oddSent, 400, openAISays("Invalid schema for function 'pics__odd': In context=(), object schema missing properties.", "tools[2].function.parameters", "invalid_function_parameters"), odd, 2},
		{"tool by its name", KindOpenAIChat, oddSent, 400, openAISays("Invalid schema for function 'pics__odd': schema must be a JSON Schema of 'type: \"object\"', got 'type: null'.", "", ""), odd, 2},
		{"some tool", KindOpenAIChat, []string{`"name":"pics__odd","parameters"`}, 400, openAISays("Invalid request content: Invalid function schema.", "", ""), []string{inference.ToolKey("pics__shot"), odd[0]}, 2},
		{"too many tools", KindOpenAIChat, oddSent, 400, openAISays("Invalid 'tools': array too long. Expected an array with maximum length 2, but got an array with length 3 instead.", "tools", "array_above_max_length"), odd, 2},
		{"no tools", KindOpenAIChat, []string{`"tools":[`}, 404, `{"error":{"message":"No endpoints found that support tool use. Try disabling \"read_file\".","code":404}}`, []string{inference.AllTools}, 2},

		{"picture", KindOpenAIResponses, []string{b64(newPicture)}, 400, openAISays("The image data you provided does not represent a valid image. Please check your input and try again.", "input[5].content[1].image_url", "invalid_image"), []string{fresh}, 2},
		{"picture of a tool", KindOpenAIResponses, []string{b64(shotPicture)}, 400, openAISays("Invalid image.", "input[4].output[1]", "image_parse_error"), []string{shot}, 2},
		{"encrypted content", KindOpenAIResponses, []string{"gAAAAAbcdefghijklmnop"}, 400, openAISays("The encrypted content gAAA...mnop could not be verified.", "", "invalid_encrypted_content"), []string{thought(KindOpenAIResponses)}, 2},
		{"encrypted item", KindOpenAIResponses, []string{"rs_0a18166210d72b5e"}, 400, openAISays("The encrypted content for item rs_0a18166210d72b5e could not be verified. Reason: Encrypted content could not be decrypted or parsed.", "", ""), []string{thought(KindOpenAIResponses)}, 2},
		{"tool", KindOpenAIResponses, oddSent, 400, openAISays("Invalid schema for function 'pics__odd': schema must have type 'object' and not have 'oneOf'/'anyOf'/'allOf'/'enum'/'not' at the top level.", "tools[2].parameters", "invalid_function_parameters"), odd, 2},

		{"Gemini's type", KindOpenAIChat, []string{b64(newPicture)}, 400, geminiSays("Unsupported MIME type: image/bmp"), []string{shot, fresh}, 2},
		{"Gemini's silence", KindOpenAIChat, []string{b64(newPicture)}, 400, geminiSays("Request contains an invalid argument."), []string{shot, fresh}, 2},
		{"Gemini's schema", KindOpenAIChat, oddSent, 400, geminiSays("* GenerateContentRequest.tools[0].function_declarations[2].parameters.properties[x].items: missing field.\n"), odd, 2},
		{"Gemini's signature", KindOpenAIChat, []string{"c2lnbmF0dXJlLW9mLXRoZS1jYWxs"}, 400, geminiSays("Corrupted thought signature."), []string{thought(KindOpenAIChat)}, 2},
		{"Gemini's calls of others", KindOpenAIChat, []string{"c2lnbmF0dXJlLW9mLXRoZS1jYWxs"}, 400, geminiSays("Function call is missing a thought_signature in functionCall parts. This is required for tools to work correctly."), []string{thought(KindOpenAIChat)}, 3},

		{"Ollama's format", KindOllama, []string{b64(newPicture)}, 500, ollamaSays("Failed to create new sequence: failed to process inputs: image: unknown format"), []string{shot, fresh}, 2},
		{"Ollama without eyes", KindOllama, pictures, 500, ollamaSays("this model is missing data required for image input"), []string{inference.AllPictures}, 2},
		{"Ollama without tools", KindOllama, []string{`"tools":[`}, 400, ollamaSays("registry.ollama.ai/library/gemma:2b does not support tools"), []string{inference.AllTools}, 2},
	}
}

// A part that a service refuses is left out of the request, which is repeated, and of every later one to that model;
// another model gets it again.
func TestRefusedPartsAreLeftOut(t *testing.T) {
	for _, c := range refusalCases() {
		t.Run(c.kind+" "+c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var bodies []string
				r := serve(t, Provider{Kind: c.kind}, func(w http.ResponseWriter, r *http.Request) {
					b, _ := io.ReadAll(r.Body)
					bodies = append(bodies, string(b))
					if strings.Contains(string(b), `"model":"m"`) && containsAny(string(b), c.has) {
						w.Header().Set("Content-Type", "application/json")
						w.WriteHeader(c.status)
						_, _ = io.WriteString(w, c.says)
						return
					}
					saysText(c.kind, w, r, b)
				})
				req := illustrated(c.kind)
				h := coretest.Hear(t.Context(), t, model(t, r), req, nil)
				if h.Err != nil || h.Text != "Hello, world." || len(h.Retries) != 0 || len(bodies) != c.tries || !slices.Equal(h.Refused, c.left) {
					t.Fatalf("%d tries, text %q, left out %v, want %v, error %v", len(bodies), h.Text, h.Refused, c.left, h.Err)
				}
				req.Refused = map[string][]string{"svc/m": h.Refused}
				req.Messages = append(
					req.Messages, inference.Message{Role: inference.RoleAssistant, Text: "Hello, world."},
					inference.Message{Role: inference.RoleUser, Blocks: []core.Block{core.Text{Text: "a plain prompt"}}},
				)
				h = coretest.Hear(t.Context(), t, model(t, r), req, nil)
				if h.Err != nil || len(h.Refused) != 0 || len(bodies) != c.tries+1 {
					t.Errorf("the next prompt: error %v, left out %v, %d requests", h.Err, h.Refused, len(bodies)-c.tries)
				}
				other, err := r.Model("svc/other")
				if err != nil {
					t.Fatal(err)
				}
				h = coretest.Hear(t.Context(), t, other, req, nil)
				last := bodies[len(bodies)-1]
				if h.Err != nil || strings.Count(last, `"pics__odd"`) != 1 || !strings.Contains(last, base64.StdEncoding.EncodeToString(newPicture.Data)) {
					t.Errorf("another model: error %v, sent %s", h.Err, last)
				}
			})
		})
	}
}

// saysText answers with the text of the suite, in the format of a kind.
func saysText(kind string, w http.ResponseWriter, r *http.Request, body []byte) {
	switch kind {
	case KindOpenAIResponses:
		speaks(&responsesVoice{}, coretest.ModelText, w, r, body)
	case KindAnthropic:
		speaks(&messagesVoice{}, coretest.ModelText, w, r, body)
	case KindOllama:
		speaks(ollamaVoice{}, coretest.ModelText, w, r, body)
	default:
		cases[coretest.ModelText](w, r, body)
	}
}

// A refusal that is about something else leaves out nothing, however many pictures there are.
func TestOtherRefusalsLeaveOutNothing(t *testing.T) {
	for _, says := range []string{"max_tokens: 100000 > 8192, which is the maximum allowed number of output tokens", "Could not process image"} {
		synctest.Test(t, func(t *testing.T) {
			n := 0
			m := model(t, serve(t, Provider{Kind: KindAnthropic}, func(w http.ResponseWriter, r *http.Request) {
				n++
				fail(w, http.StatusBadRequest, says, "invalid_request_error")
			}))
			h := coretest.Hear(t.Context(), t, m, illustrated(KindAnthropic), nil)
			if h.Err == nil || h.Refused != nil || n > 4 || !strings.Contains(h.Err.Error(), says) {
				t.Errorf("%d requests, left out %v, error %v", n, h.Refused, h.Err)
			}
		})
	}
}

// A model that wants its thoughts before calls does not think in a request without them.
func TestThinkingRestsWithoutThoughts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var bodies []string
		m := model(t, serve(t, Provider{Kind: KindAnthropic}, func(w http.ResponseWriter, r *http.Request) {
			b, _ := io.ReadAll(r.Body)
			bodies = append(bodies, string(b))
			switch {
			case strings.Contains(string(b), "c2lnbmF0dXJlLW9mLXRoZS10aG91Z2h0"):
				fail(w, http.StatusBadRequest, "messages.1.content.0: Invalid `signature` in `thinking` block", "invalid_request_error")
			case strings.Contains(string(b), `"thinking":{`):
				fail(w, http.StatusBadRequest, "messages.1.content.0.type: Expected `thinking` or `redacted_thinking`, but found `text`. When `thinking` is enabled, a final `assistant` message must start with a thinking block", "invalid_request_error")
			default:
				speaks(&messagesVoice{}, coretest.ModelText, w, r, b)
			}
		}))
		req := illustrated(KindAnthropic)
		req.Effort = "high"
		h := coretest.Hear(t.Context(), t, m, req, nil)
		if h.Err != nil || len(bodies) != 3 || len(h.Refused) != 1 {
			t.Errorf("%d requests, left out %v, error %v", len(bodies), h.Refused, h.Err)
		}
	})
}
