// Makes catalogue.tsv from the npm package @mariozechner/pi-ai (MIT). In a folder outside of the repository:
//   npm install --ignore-scripts @mariozechner/pi-ai@VERSION
//   node …/core/llm/catalogue.mjs node_modules/@mariozechner/pi-ai DATE >…/core/llm/catalogue.tsv
import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";

const [dir, date] = process.argv.slice(2);
const { version, author } = JSON.parse(readFileSync(join(dir, "package.json"), "utf8"));
const { MODELS } = await import(pathToFileURL(resolve(dir, "dist/models.generated.js")));

const head = `# Language models: context windows, prices in US dollars for a million tokens, capabilities.
# Generated on ${date} from the npm package @mariozechner/pi-ai ${version}, which is under the MIT License:
# Copyright (c) ${author?.name ?? author}
# Permission is hereby granted, free of charge, to any person obtaining a copy of this software and associated documentation files (the
# "Software"), to deal in the Software without restriction, including without limitation the rights to use, copy, modify, merge, publish,
# distribute, sublicense, and/or sell copies of the Software, and to permit persons to whom the Software is furnished to do so, subject to
# the following conditions: The above copyright notice and this permission notice shall be included in all copies or substantial portions of
# the Software. THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR IMPLIED, INCLUDING BUT NOT LIMITED TO THE
# WARRANTIES OF MERCHANTABILITY, FITNESS FOR A PARTICULAR PURPOSE AND NONINFRINGEMENT. IN NO EVENT SHALL THE AUTHORS OR COPYRIGHT HOLDERS BE
# LIABLE FOR ANY CLAIM, DAMAGES OR OTHER LIABILITY, WHETHER IN AN ACTION OF CONTRACT, TORT OR OTHERWISE, ARISING FROM, OUT OF OR IN
# CONNECTION WITH THE SOFTWARE OR THE USE OR OTHER DEALINGS IN THE SOFTWARE.
# provider, model, name, window, most tokens of an answer, r: reasons and i: takes images, prices: in, out, read from a cache, written to it
`;
const rows = [];
for (const [provider, models] of Object.entries(MODELS))
  for (const m of Object.values(models)) {
    const flags = (m.reasoning ? "r" : "") + (m.input.includes("image") ? "i" : "");
    const prices = [m.cost.input, m.cost.output, m.cost.cacheRead, m.cost.cacheWrite].map((p) => Math.round(p * 1e6) / 1e6);
    rows.push([provider, m.id, m.name.replace(/[\t\n]/g, " "), m.contextWindow, m.maxTokens, flags, ...prices].join("\t"));
  }
process.stdout.write(head + rows.sort().join("\n") + "\n");
